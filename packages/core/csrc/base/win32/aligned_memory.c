#include <malloc.h>

#include "../aligned_memory.h"
#include "base/status.h"

void *tn__aligned_allocate(size_t byte_size, size_t byte_alignment) {
  return _aligned_malloc(byte_size, byte_alignment);
}

void tn__aligned_free(void *block) { _aligned_free(block); }
