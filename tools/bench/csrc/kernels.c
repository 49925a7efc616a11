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
