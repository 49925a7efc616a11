/* The work of the benchmarks of sizes, threads and workers, which reads its whole operand. */
#ifndef TENON_BENCH_SUM_H
#define TENON_BENCH_SUM_H

#include <stdint.h>

/* Returns the sum of `count` words, which wraps. */
static inline int32_t sum_words(const int32_t *words, int64_t count) {
  uint32_t total = 0;
  for (int64_t i = 0; i < count; i++) total += (uint32_t)words[i];
  return (int32_t)total;
}

#endif
