/* The two halves of the fuzz driver: guidance (fuzz_mutate.c) and execution (fuzz_driver.c). Single-threaded. */
#ifndef FUZZ_DRIVER_H
#define FUZZ_DRIVER_H

#include <stddef.h>
#include <stdint.h>

/* Starts the sequence of random numbers; the same seed gives the same mutations. */
void fuzz_seed(uint64_t seed);

/* A random number below `limit`, which is not 0. */
size_t fuzz_random(size_t limit);

/* Whether a new pair of consecutive code places was reached since the last call. */
int fuzz_take_new_coverage(void);

/* Changes `size` bytes in `data`, which has room for `capacity`, in a few random ways, some of them taken from the `other`
 * input and from the numbers that the target compared. Returns the new size. */
size_t fuzz_mutate(uint8_t *data, size_t size, size_t capacity, const uint8_t *other, size_t other_size);

#endif
