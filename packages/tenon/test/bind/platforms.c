#include "platforms.h"

word start = 7;
word add_words(word a, word b, const char *unused, int (*also)(word)) { return a + b + (also ? also(a) : 0) + (unused ? 1 : 0); }
enum color next_color(enum color c) { return c + 1; }
pair make_pair(char first, word second) { return (pair){ first, second }; }
