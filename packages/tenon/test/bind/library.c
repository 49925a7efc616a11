#include "library.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct counter { int value; };
int global_count = 5;
const char global_name[6] = "names";
point global_point = { 1, 2 };

uint8_t add_u8(uint8_t a, uint8_t b) { return a + b; }
int64_t add_i64(int64_t a, int64_t b) { return a + b; }
float add_f32(float a, float b) { return a + b; }
bool negate(bool value) { return !value; }
enum mode next_mode(enum mode mode) { return mode == MODE_OFF ? MODE_ON : MODE_OFF; }
point middle(point a, point b) { return (point){ (a.x + b.x) / 2, (a.y + b.y) / 2 }; }
double length(const point *p) { return sqrt(p->x * p->x + p->y * p->y); }
size_t count(const char *text) { return text ? strlen(text) : 0; }
const char *describe(enum mode mode) { return mode == MODE_OFF ? "off" : mode == MODE_ON ? "an" : NULL; }
double sum(const double *values, size_t count) { double s = 0; for (size_t i = 0; i < count; i++) s += values[i]; return s; }
void set_bytes(void *memory, int value, size_t size) { memset(memory, value, size); }
void sort_ints(int *values, size_t count, compare by) { qsort(values, count, sizeof(int), by); }
int apply(int (*function)(int, point, const char *), int value) { return function(value, (point){ 1, 2 }, "seen"); }
int print_to(char *buffer, size_t size, const char *format, ...) {
  va_list list;
  va_start(list, format);
  int written = vsnprintf(buffer, size, format, list);
  va_end(list);
  return written;
}
counter *counter_open(int start) { counter *c = malloc(sizeof *c); c->value = start; return c; }
int counter_next(counter *c) { return c->value++; }
void counter_close(counter *c) { free(c); }
int is_everything(void *pointer) { return pointer == LIBRARY_EVERYTHING; }
int class(int new) { return new + 1; }
