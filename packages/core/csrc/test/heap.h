/* How many bytes of the heap are in use, for tests that nothing stays allocated. Only glibc counts them: elsewhere the number is always 0. */
#ifndef TENON_TEST_HEAP_H
#define TENON_TEST_HEAP_H

#include <stddef.h>
#include <stdlib.h>

#if defined(__GLIBC__)
#include <malloc.h>

static inline size_t heap_bytes(void) {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}
#else
static inline size_t heap_bytes(void) { return 0; }
#endif

#endif
