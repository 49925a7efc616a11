#include <stdint.h>

#ifdef WIDE
typedef int64_t word;
#define NAME "wide"
#else
typedef int32_t word;
#define NAME "narrow"
#define ONLY_NARROW 1
int only_narrow(int x);
#endif
/** The size of a word. */
#define WORD_SIZE (sizeof(word))
#define SAME 5

typedef struct pair { char first; word second; } pair;
typedef struct same { int32_t x; } same;
enum color { RED, GREEN };

/** Adds words. */
word add_words(word a, word b, const char *unused, int (*also)(word));
enum color next_color(enum color c);
pair make_pair(char first, word second);
extern word start;
