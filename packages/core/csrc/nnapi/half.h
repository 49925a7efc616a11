/* 16-bit floats (IEEE 754 binary16) as bits: compilers differ in whether they know the type. */
#pragma once

#include <stdint.h>
#include <string.h>

static inline uint64_t tn_nn__bits(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static inline double tn_nn__from_half(uint16_t half) {
  uint64_t sign = (uint64_t)(half & 0x8000) << 48, exponent = (half >> 10) & 31, fraction = half & 0x3ff;
  double value;
  if (exponent == 0) {
    value = (double)fraction * 0x1p-24;
  } else {
    uint64_t bits = (exponent == 31 ? 0x7ff : exponent + 1008) << 52 | fraction << 42;
    memcpy(&value, &bits, sizeof value);
  }
  return sign == 0 ? value : -value;
}

/* The nearest half; of two as near, the even one. What is beyond the largest becomes infinite. */
static inline uint16_t tn_nn__to_half(double value) {
  uint64_t bits = tn_nn__bits(value), magnitude = bits & ~(UINT64_C(1) << 63);
  uint16_t sign = (uint16_t)(bits >> 48 & 0x8000);
  if (magnitude > UINT64_C(0x7ff) << 52) return sign | 0x7e00;
  if (magnitude >= tn_nn__bits(65520)) return sign | 0x7c00;
  if (magnitude < tn_nn__bits(0x1p-14)) {
    /* Numbers from 2^28 to 2^29 lie 2^-24 apart, as subnormal halves do: the addition rounds. */
    double sum = (value < 0 ? -value : value) + 0x1p28;
    return sign | (uint16_t)(tn_nn__bits(sum) - tn_nn__bits(0x1p28));
  }
  uint64_t rounded = magnitude + (UINT64_C(1) << 41) - 1 + (magnitude >> 42 & 1);
  return sign | (uint16_t)((rounded >> 42) - (UINT64_C(1008) << 10));
}
