/* Memory at a multiple of an alignment. */
#pragma once

#include <stddef.h>

/* Allocates uninitialised memory. Null if out of memory. The alignment is a
 * power of two and at least the size of a pointer. */
void *tn__aligned_allocate(size_t byte_size, size_t byte_alignment);
void tn__aligned_free(void *block);
