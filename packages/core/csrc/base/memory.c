/* Zeroed and aligned memory that C owns. */
#include <stdlib.h>
#include <string.h>

#include "aligned_memory.h"
#include "base/status.h"

#define MAXIMUM_ALIGNMENT ((size_t)1 << 30)

int32_t tn_memory_allocate(size_t byte_size, size_t byte_alignment, void **out) {
  TN_REQUIRE(out != NULL, "out must not be null");
  TN_REQUIRE(byte_alignment != 0 && (byte_alignment & (byte_alignment - 1)) == 0 && byte_alignment <= MAXIMUM_ALIGNMENT,
             "byte_alignment must be a power of two up to 2^30, got %zu", byte_alignment);
  if (byte_alignment < sizeof(void *)) byte_alignment = sizeof(void *);
  if (byte_size > PTRDIFF_MAX - byte_alignment)
    return tn__fail(TN_OUT_OF_MEMORY, "byte_size must fit into an address space, got %zu", byte_size);
  size_t room = byte_size == 0 ? 1 : byte_size;
  void *block = tn__aligned_allocate(room, byte_alignment);
  if (block == NULL) return tn__fail(TN_OUT_OF_MEMORY, "out of memory: cannot allocate %zu bytes", byte_size);
  memset(block, 0, room);
  *out = block;
  return TN_OK;
}

void tn_memory_copy(void *to, const void *from, size_t byte_size) { memcpy(to, from, byte_size); }

size_t tn_text_length(const char *text, size_t limit) {
  const char *end = memchr(text, 0, limit);
  return end == NULL ? limit : (size_t)(end - text);
}

void tn_memory_free(void *block) { tn__aligned_free(block); }
