/* Ranges of pages whose faults are handled. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Watches a range of guarded pages. */
int32_t tn__fault_guard_add(void *address, size_t byte_size);

/* Stops watching the range that starts at `address`, if it is watched. */
void tn__fault_guard_remove(void *address);
