#include "shim.h"

int library_level = 5;
int library_count(void) { return library_level; }
number convert(number n) { return (number){ .real = (double)n.whole }; }
struct flags swap(struct flags f, int times) { return (struct flags){ f.high & 15, f.low + times }; }
long double scale(long double x, double by) { return x * by; }
float _Complex turn(float _Complex z) { return z * I; }
int sum_wide(int count, long double first, ...) { return count + (int)first; }
