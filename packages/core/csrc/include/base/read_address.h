/* Addresses that JavaScript has just written. */
#pragma once

#include <stdint.h>

/* Reads an address that JavaScript wrote as two words. Reading all of it at once would wait until both words have reached
 * the cache, which takes as long as the rest of an entry. */
static inline void *tn__read_address(const void *place) {
  const volatile uint32_t *words = place;
  const uint64_t low = words[0], high = words[1];
  return (void *)(uintptr_t)(low | high << 32);
}
