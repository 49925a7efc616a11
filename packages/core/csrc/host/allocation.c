/* The allocation functions of the process, which note what is refused. Those of the C library do the work. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "process.h"

/* The sanitizer has allocation functions of its own. */
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* The second names of glibc for its own functions. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

#define TN_EXPORT __attribute__((visibility("default")))

static tn_host_header_t *record;

void tn__record_refusals(uint8_t *command) { record = (tn_host_header_t *)(void *)command; }

static void *noted(void *block, size_t size) {
  if (block == NULL && size != 0 && record != NULL) record->refused_bytes = size;
  return block;
}

TN_EXPORT void *malloc(size_t size) { return noted(__libc_malloc(size), size); }

TN_EXPORT void *calloc(size_t count, size_t size) {
  size_t total;
  if (__builtin_mul_overflow(count, size, &total)) total = SIZE_MAX;
  return noted(__libc_calloc(count, size), total);
}

TN_EXPORT void *realloc(void *block, size_t size) { return noted(__libc_realloc(block, size), size); }

TN_EXPORT void *memalign(size_t alignment, size_t size) { return noted(__libc_memalign(alignment, size), size); }

TN_EXPORT void *aligned_alloc(size_t alignment, size_t size) { return noted(__libc_memalign(alignment, size), size); }

TN_EXPORT int posix_memalign(void **out, size_t alignment, size_t size) {
  if (alignment < sizeof(void *) || (alignment & (alignment - 1)) != 0) return EINVAL;
  const int kept = errno;
  void *block = noted(__libc_memalign(alignment, size), size);
  errno = kept;
  if (block == NULL) return ENOMEM;
  *out = block;
  return 0;
}

#else
void tn__record_refusals(uint8_t *command) { (void)command; }
#endif
