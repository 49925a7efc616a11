/* Native functions that all contestants of a benchmark call. */
#include "sum.h"

#define EXPORT __attribute__((visibility("default")))

/* Calls a function `count` times. */
EXPORT int32_t bench_repeat(int32_t (*function)(int32_t, int32_t), int32_t count) {
  int32_t sum = 0;
  for (int32_t i = 0; i < count; i++) sum = (int32_t)((uint32_t)sum + (uint32_t)function(i, 2));
  return sum;
}

/* Returns the sum of the words in `size` bytes. */
EXPORT int32_t bench_sum(const int32_t *words, int64_t size) { return sum_words(words, size / (int64_t)sizeof *words); }

typedef struct {
  double x, y;
} point;

typedef struct {
  double values[8];
} block;

/* Takes and returns a struct in registers. */
EXPORT point bench_scale_point(point at, double factor) { return (point){at.x * factor, at.y * factor}; }

/* Takes and returns a struct in memory. */
EXPORT block bench_scale_block(block all, double factor) {
  for (int i = 0; i < 8; i++) all.values[i] *= factor;
  return all;
}

/* Calls a function that takes and returns a struct `count` times. */
EXPORT double bench_repeat_points(point (*function)(point), int32_t count) {
  point at = {1, 2};
  for (int32_t i = 0; i < count; i++) at = function(at);
  return at.x;
}

EXPORT double bench_repeat_blocks(block (*function)(block), int32_t count) {
  block all = {{1, 2, 3, 4, 5, 6, 7, 8}};
  for (int32_t i = 0; i < count; i++) all = function(all);
  return all.values[0];
}
