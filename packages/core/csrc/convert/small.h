/* Elements of the small types as codes, which are in the low bits, and the same numbers as float32. */
#pragma once

#include <stdint.h>

/* The elements that one function converts at a time. The loops have this constant length, so that compilers use vectors for them. */
#define TN__BLOCK 256

/* A small type. The functions convert TN__BLOCK elements. */
typedef struct {
  uint32_t bits;
  void (*decode)(const uint16_t *restrict codes, float *restrict values);
  void (*encode)(const float *restrict values, uint16_t *restrict codes);
} tn__small_t;

/* Returns the type with this number, or null. */
const tn__small_t *tn__small_type(uint32_t type);
