/* Coverage as the compiler reports it (-fsanitize-coverage=trace-pc,trace-cmp), and the mutations. */
#include <string.h>

#include "fuzz_driver.h"

/* --- Coverage ------------------------------------------------------------------------------------------------------ */

static uint8_t reached[1 << 16];
static uintptr_t previous;
static int new_coverage;

/* The last numbers that the target compared something with: magic numbers and lengths to try. */
static uint64_t compared[256];
static size_t compared_count;

__attribute__((visibility("default"))) void __sanitizer_cov_trace_pc(void) {
  const uintptr_t place = (uintptr_t)__builtin_return_address(0);
  const size_t edge = ((place >> 1) ^ (previous << 5) ^ (place >> 13)) % sizeof reached;
  previous = place;
  if (reached[edge]) return;
  reached[edge] = 1;
  new_coverage = 1;
}

int fuzz_take_new_coverage(void) {
  const int is_new = new_coverage;
  new_coverage = 0;
  previous = 0;
  return is_new;
}

static void remember(uint64_t value) { compared[compared_count++ % 256] = value; }

#define TRACE_COMPARE(name, type)                                                     \
  __attribute__((visibility("default"))) void __sanitizer_cov_trace_##name(type a, type b) { \
    if (a == b) return;                                                               \
    remember((uint64_t)a);                                                            \
    remember((uint64_t)b);                                                            \
  }
TRACE_COMPARE(cmp1, uint8_t)
TRACE_COMPARE(cmp2, uint16_t)
TRACE_COMPARE(cmp4, uint32_t)
TRACE_COMPARE(cmp8, uint64_t)
TRACE_COMPARE(const_cmp1, uint8_t)
TRACE_COMPARE(const_cmp2, uint16_t)
TRACE_COMPARE(const_cmp4, uint32_t)
TRACE_COMPARE(const_cmp8, uint64_t)

__attribute__((visibility("default"))) void __sanitizer_cov_trace_cmpf(float a, float b) {
  (void)a;
  (void)b;
}

__attribute__((visibility("default"))) void __sanitizer_cov_trace_cmpd(double a, double b) {
  (void)a;
  (void)b;
}

/* `cases` holds the count of the cases, the bits of the value, and the cases. */
__attribute__((visibility("default"))) void __sanitizer_cov_trace_switch(uint64_t value, uint64_t *cases) {
  (void)value;
  for (uint64_t i = 0; i < cases[0]; i++) remember(cases[2 + i]);
}

/* --- Random numbers: xorshift64* ----------------------------------------------------------------------------------- */

static uint64_t state = 1;

void fuzz_seed(uint64_t seed) { state = seed * 2 + 1; }

static uint64_t next_random(void) {
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return state * 0x2545f4914f6cdd1du;
}

size_t fuzz_random(size_t limit) { return (size_t)((next_random() >> 11) % limit); }

/* --- Mutations ------------------------------------------------------------------------------------------------------ */

/* A number at which size and offset arithmetic breaks, one that was compared, or a random one. */
static uint64_t interesting(void) {
  switch (fuzz_random(4)) {
    case 0:
      return fuzz_random(32);
    case 1:
      return ((uint64_t)1 << fuzz_random(64)) - fuzz_random(3);
    case 2:
      return compared[fuzz_random(256)];
    default:
      return next_random();
  }
}

/* Writes 1, 2, 4 or 8 bytes, often at a multiple of their size. */
static void write_number(uint8_t *data, size_t size) {
  const size_t width = (size_t)1 << fuzz_random(4);
  if (width > size) return;
  size_t at = fuzz_random(size - width + 1);
  if (fuzz_random(2)) at -= at % width;
  const uint64_t value = interesting();
  memcpy(data + at, &value, width);
}

static size_t insert(uint8_t *data, size_t size, size_t capacity, const uint8_t *from, size_t count) {
  if (count > capacity - size) count = capacity - size;
  const size_t at = fuzz_random(size + 1);
  memmove(data + at + count, data + at, size - at);
  memcpy(data + at, from, count);
  return size + count;
}

static size_t erase(uint8_t *data, size_t size) {
  const size_t at = fuzz_random(size);
  size_t count = (size_t)1 << fuzz_random(8);
  if (count > size - at) count = size - at;
  memmove(data + at, data + at + count, size - at - count);
  return size - count;
}

size_t fuzz_mutate(uint8_t *data, size_t size, size_t capacity, const uint8_t *other, size_t other_size) {
  static const uint8_t zeros[16];
  for (size_t count = 1 + fuzz_random(6); count > 0; count--) {
    const size_t kind = fuzz_random(8);
    if (size == 0 || kind == 0) {
      size = insert(data, size, capacity, zeros, 1 + fuzz_random(sizeof zeros));
    } else if (kind == 1) {
      data[fuzz_random(size)] ^= (uint8_t)(1 << fuzz_random(8));
    } else if (kind == 2) {
      size = erase(data, size);
    } else if (kind == 3 && other_size > 0) {
      const size_t from = fuzz_random(other_size);
      size = insert(data, size, capacity, other + from, 1 + fuzz_random(other_size - from));
    } else if (kind == 4 && other_size > 0) {
      const size_t from = fuzz_random(other_size < size ? other_size : size);
      const size_t room = (other_size < size ? other_size : size) - from;
      memcpy(data + from, other + from, 1 + fuzz_random(room));
    } else {
      write_number(data, size);
    }
  }
  return size;
}
