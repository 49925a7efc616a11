#include <stdlib.h>

#include "../aligned_memory.h"
#include "base/status.h"

void *tn__aligned_allocate(size_t byte_size, size_t byte_alignment) {
  void *block = NULL;
  return posix_memalign(&block, byte_alignment, byte_size) == 0 ? block : NULL;
}

void tn__aligned_free(void *block) { free(block); }
