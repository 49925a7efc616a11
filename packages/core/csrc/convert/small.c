/* The number of each code of a small type, and the code of each number. Each function is compiled for one type, without branches in its
 * loop. Results do not depend on flush-to-zero: subnormal numbers are made of integers. */
#include "small.h"

#include <stddef.h>
#include <string.h>

/* The meanings of the largest codes: see core/src/types/minifloat.ts. */
enum { IEEE, FN, FINITE, FNUZ };

typedef struct {
  uint32_t exponent, mantissa, bias;
  int specials;
} form_t;

#define INLINE static inline __attribute__((always_inline))

#define INFINITE 0x7f800000u
#define MAGNITUDE 0x7fffffffu

INLINE uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

INLINE float float_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* `yes` where the condition is 1, and `no` where it is 0. */
INLINE uint32_t choose(uint32_t condition, uint32_t yes, uint32_t no) { return (yes & (0u - condition)) | (no & (condition - 1)); }

INLINE float decode_float(uint32_t code, form_t form) {
  const uint32_t mantissa_mask = (1u << form.mantissa) - 1, largest = (1u << form.exponent) - 1;
  const uint32_t sign_bit = 1u << (form.exponent + form.mantissa), up = 23 - form.mantissa;
  const uint32_t exponent = code >> form.mantissa & largest, mantissa = code & mantissa_mask;
  const uint32_t magnitude = code & (sign_bit - 1);
  const uint32_t normal = (magnitude << up) + ((127 - form.bias) << 23);
  const uint32_t subnormal = bits_of((float)(int32_t)mantissa * float_of((128 - form.bias - form.mantissa) << 23));
  uint32_t bits = choose(exponent == 0, subnormal, normal);
  if (form.specials == IEEE) bits |= choose(exponent == largest, INFINITE, 0);
  if (form.specials == FN) bits |= choose(magnitude == sign_bit - 1, INFINITE, 0);
  if (form.specials == FNUZ) return float_of(choose(code == sign_bit, INFINITE | 1u << 22, bits | (code & sign_bit) << (8 - form.exponent + up)));
  return float_of(bits | (code & sign_bit) << (8 - form.exponent + up));
}

INLINE uint32_t encode_float(float value, form_t form) {
  const uint32_t bits = bits_of(value), magnitude = bits & MAGNITUDE, down = 23 - form.mantissa;
  const uint32_t sign_bit = 1u << (form.exponent + form.mantissa), infinity = sign_bit - (1u << form.mantissa);
  const uint32_t sign = bits >> (31 - form.exponent - form.mantissa) & sign_bit;
  const uint32_t rounded = magnitude + ((1u << (down - 1)) - 1) + (magnitude >> down & 1);
  const uint32_t normal = (rounded >> down) - ((127 - form.bias) << form.mantissa);
  /* Numbers near this one are as far apart as subnormal numbers of the type, so the addition rounds. */
  const uint32_t near = (151 - form.bias - form.mantissa) << 23;
  const uint32_t subnormal = bits_of(float_of(magnitude) + float_of(near)) - near;
  const uint32_t largest = form.specials == IEEE ? infinity : form.specials == FN ? sign_bit - 2 : sign_bit - 1;
  const uint32_t nan = form.specials == IEEE ? infinity | 1u << (form.mantissa - 1)
                     : form.specials == FN   ? sign_bit - 1
                     : form.specials == FNUZ ? sign_bit
                                             : 0;
  /* Compared as signed numbers, for which more processors have vectors. A number that is too large has the exponent of another sign. */
  uint32_t code = choose((int32_t)magnitude < (int32_t)((128 - form.bias) << 23), subnormal, normal);
  code = choose((int32_t)code > (int32_t)largest, largest, code);
  const uint32_t with_sign = form.specials == FNUZ ? choose(code == 0, 0, code | sign) : code | sign;
  return choose((int32_t)magnitude > (int32_t)INFINITE, nan, with_sign);
}

INLINE float decode_bfloat16(uint32_t code) { return float_of(code << 16); }

INLINE uint32_t encode_bfloat16(float value) {
  const uint32_t bits = bits_of(value), rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return choose((int32_t)(bits & MAGNITUDE) > (int32_t)INFINITE, 0x7fc0, rounded);
}

/* A power of two without a sign. */
INLINE float decode_power(uint32_t code) {
  return float_of(choose(code == 0, 1u << 22, choose(code == 255, INFINITE | 1u << 22, code << 23)));
}

INLINE uint32_t encode_power(float value) {
  const uint32_t bits = bits_of(value), fraction = bits & 0x7fffff, code = bits >> 23;
  const uint32_t up = (uint32_t)(fraction > (1u << 22)) | ((uint32_t)(fraction == 1u << 22) & code);
  const uint32_t next = code + (up & 1), normal = choose((int32_t)next > 254, 254, next);
  /* Subnormal numbers of float32: 2^-127 is half of the smallest normal one. */
  const uint32_t small = choose(fraction > 3u << 21, 1, 0);
  const uint32_t is_number = (uint32_t)((int32_t)bits >= 0) & (uint32_t)((int32_t)bits < (int32_t)INFINITE);
  return choose(is_number | (uint32_t)(bits == 1u << 31), choose((bits & MAGNITUDE) < 1u << 23, small, normal), 255);
}

INLINE float decode_integer(uint32_t code, uint32_t size, int is_signed) {
  const uint32_t unused = 32 - size;
  return is_signed ? (float)((int32_t)(code << unused) >> unused) : (float)(int32_t)(code << unused >> unused);
}

INLINE uint32_t encode_integer(float value, uint32_t size, int is_signed) {
  const uint32_t bits = bits_of(value), magnitude = bits & MAGNITUDE, outside = bits_of(0x1p20f);
  const int32_t low = is_signed ? -(int32_t)(1u << (size - 1)) : 0, high = (int32_t)((1u << (is_signed ? size - 1 : size)) - 1);
  const uint32_t smaller = choose((int32_t)magnitude > (int32_t)outside, outside, magnitude);
  /* Numbers near this one are 1 apart, so the addition rounds. */
  const float near = 0x1.8p23f;
  int32_t whole = (int32_t)(bits_of(float_of(smaller | (bits & ~MAGNITUDE)) + near) - bits_of(near));
  whole = whole < low ? low : whole;
  whole = whole > high ? high : whole;
  return choose((int32_t)magnitude > (int32_t)INFINITE, 0, (uint32_t)whole & ((1u << size) - 1));
}

#define SMALL(name, decoded, encoded)                                                       \
  static void decode_##name##_block(const uint16_t *restrict codes, float *restrict values) { \
    for (int i = 0; i < TN__BLOCK; i++) values[i] = decoded;                                \
  }                                                                                         \
  static void encode_##name##_block(const float *restrict values, uint16_t *restrict codes) { \
    for (int i = 0; i < TN__BLOCK; i++) codes[i] = (uint16_t)(encoded);                     \
  }
#define TN_FLOAT(type, name, exponent, mantissa, bias, specials)                            \
  SMALL(name, decode_float(codes[i], ((form_t){exponent, mantissa, bias, specials})),       \
        encode_float(values[i], ((form_t){exponent, mantissa, bias, specials})))
#define TN_INTEGER(type, name, size, is_signed) \
  SMALL(name, decode_integer(codes[i], size, is_signed), encode_integer(values[i], size, is_signed))
#include "types.def"
SMALL(bfloat16, decode_bfloat16(codes[i]), encode_bfloat16(values[i]))
SMALL(power, decode_power(codes[i]), encode_power(values[i]))
#undef TN_FLOAT
#undef TN_INTEGER

static const tn__small_t types[] = {
#define TN_FLOAT(type, name, exponent, mantissa, bias, specials) \
  [type] = {1 + (exponent) + (mantissa), decode_##name##_block, encode_##name##_block},
#define TN_INTEGER(type, name, size, is_signed) [type] = {size, decode_##name##_block, encode_##name##_block},
#include "types.def"
    [16] = {16, decode_bfloat16_block, encode_bfloat16_block},
    [33] = {8, decode_power_block, encode_power_block},
};

const tn__small_t *tn__small_type(uint32_t type) {
  return type < sizeof types / sizeof *types && types[type].bits != 0 ? &types[type] : NULL;
}
