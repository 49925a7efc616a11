/* Memory that ends at a page without access. A read or write of one byte behind it ends the test program, with any
 * compiler. */
#ifndef TENON_TEST_GUARD_PAGE_H
#define TENON_TEST_GUARD_PAGE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct {
  uint8_t *pages;
  size_t size; /* bytes before the page without access */
} guard_page_t;

/* Maps at least `capacity` bytes before the page without access. Returns 0 if the system refuses. */
static inline int guard_page_open(guard_page_t *guard, size_t capacity) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  guard->size = (capacity / page + 1) * page;
  guard->pages = mmap(NULL, guard->size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return guard->pages != MAP_FAILED && mprotect(guard->pages + guard->size, page, PROT_NONE) == 0;
}

/* The place of the last `length` bytes. */
static inline void *guard_page_last(const guard_page_t *guard, size_t length) {
  return guard->pages + guard->size - length;
}

/* Copies bytes to the end. The result is valid until the next copy. */
static inline void *guard_page_copy(const guard_page_t *guard, const void *bytes, size_t length) {
  return length == 0 ? guard_page_last(guard, 0) : memcpy(guard_page_last(guard, length), bytes, length);
}

static inline void guard_page_close(guard_page_t *guard) {
  munmap(guard->pages, guard->size + (size_t)sysconf(_SC_PAGESIZE));
}

#endif
