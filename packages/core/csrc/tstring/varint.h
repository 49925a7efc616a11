/* The lengths of the legacy layout, which are varints with 7 bits in each byte, the lowest first. */
#pragma once

#include "internal.h"

#define TN__VARINT_MAXIMUM 10

static inline size_t tn__varint_size(uint64_t value) {
  size_t size = 1;
  while (value >= 0x80) {
    value >>= 7;
    size++;
  }
  return size;
}

/* Reads a varint of at most TN__VARINT_MAXIMUM bytes like TensorFlow: over-long forms are accepted, and bits above 64
 * are dropped. Returns its length, or 0 if it does not end in the `available` bytes. */
TN__LOOP size_t tn__read_varint(const uint8_t *at, uint64_t available, uint64_t *value) {
  uint64_t result = 0;
  for (size_t i = 0; i < TN__VARINT_MAXIMUM && i < available; i++) {
    const uint8_t byte = at[i];
    TN__LOADED();
    result |= (uint64_t)(byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      *value = result;
      return i + 1;
    }
  }
  return 0;
}

/* Reads the length before a string, of which at least one byte is available. Lengths of one and of two bytes are
 * distinguished without a branch. A missing second byte is read as the start of a longer length. */
TN__HOT size_t tn__read_length(const uint8_t *at, uint64_t available, uint64_t *size) {
  const uint32_t low = at[0], high = available > 1 ? at[1] : 0x80;
  TN__LOADED();
  uint64_t as_two = 0 - (uint64_t)(low >> 7);
  TN__OPAQUE(as_two);
  if (high & 0x80 & as_two) return tn__read_varint(at, available, size);
  *size = (low & 0x7f) | ((uint64_t)high << 7 & as_two);
  return 1 + (low >> 7);
}
