/* Functions that fault_guard.c offers to mapping.c. */
#ifndef TENON_FAULT_GUARD_H
#define TENON_FAULT_GUARD_H

#include "../internal.h"

/* Watches a range. TN_OUT_OF_MEMORY: all places are taken. */
int32_t tn__fault_guard_add(void *address, size_t byte_size);

/* Stops watching the range that starts at `address`, if it is watched. */
void tn__fault_guard_remove(void *address);

#endif
