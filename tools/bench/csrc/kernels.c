/* Native functions that all contestants of a benchmark call. */
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

/* Calls a function `count` times. */
EXPORT int32_t bench_repeat(int32_t (*function)(int32_t, int32_t), int32_t count) {
  int32_t sum = 0;
  for (int32_t i = 0; i < count; i++) sum = (int32_t)((uint32_t)sum + (uint32_t)function(i, 2));
  return sum;
}
