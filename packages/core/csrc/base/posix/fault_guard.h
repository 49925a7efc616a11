/* What the mappings and the guard of their faults share. */
#ifndef TENON_FAULT_GUARD_H
#define TENON_FAULT_GUARD_H

#include "../internal.h"

/* Watches a range from now on; TN_OUT_OF_MEMORY if all places are taken. */
int32_t tn__fault_guard_add(void *address, size_t byte_size);

/* Stops watching the range that starts at `address`, if it is watched. */
void tn__fault_guard_remove(void *address);

#endif
