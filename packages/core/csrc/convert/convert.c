/* Converts tensors block by block: bytes to codes, codes to float32, float32 to codes, codes to bytes. */
#include "tenon_convert.h"

#include <string.h>

#include "base/status.h"
#include "small.h"

#define FLOAT32 11u

/* One side of a conversion. */
typedef struct {
  const tn__small_t *small; /* null for float32 */
  int is_packed;
} side_t;

static int32_t side_of(uint32_t type, int is_packed, side_t *side) {
  side->small = tn__small_type(type);
  side->is_packed = is_packed && side->small != NULL && side->small->bits < 8;
  if (type == FLOAT32 || side->small != NULL) return TN_OK;
  return tn__fail(TN_UNSUPPORTED, "elements of type %u cannot be converted", type);
}

/* The bytes of the first `count` elements. Blocks begin at whole bytes. */
static size_t bytes_of(const side_t *side, size_t count) {
  if (side->small == NULL) return count * sizeof(float);
  if (side->is_packed) return (count * side->small->bits + 7) / 8;
  return side->small->bits == 16 ? 2 * count : count;
}

/* The bytes have a whole block. */
static void unpack(const side_t *side, const uint8_t *restrict bytes, uint16_t *restrict codes) {
  const uint32_t bits = side->small->bits;
  if (!side->is_packed) {
    for (int i = 0; i < TN__BLOCK; i++) codes[i] = bytes[i];
    return;
  }
  const uint32_t in_byte = 8 / bits, mask = (1u << bits) - 1;
  for (uint32_t i = 0; i < TN__BLOCK / in_byte; i++)
    for (uint32_t j = 0; j < in_byte; j++) codes[i * in_byte + j] = (uint16_t)(bytes[i] >> j * bits & mask);
}

static void pack(const side_t *side, const uint16_t *restrict codes, uint8_t *restrict bytes) {
  const uint32_t bits = side->small->bits;
  if (!side->is_packed) {
    for (int i = 0; i < TN__BLOCK; i++) bytes[i] = (uint8_t)codes[i];
    return;
  }
  const uint32_t in_byte = 8 / bits;
  for (uint32_t i = 0; i < TN__BLOCK / in_byte; i++) {
    uint32_t byte = 0;
    for (uint32_t j = 0; j < in_byte; j++) byte |= (uint32_t)codes[i * in_byte + j] << j * bits;
    bytes[i] = (uint8_t)byte;
  }
}

/* The values of a block. They are in the memory of the source if that is float32. */
static const float *decode(const side_t *from, const void *source, float *values) {
  uint16_t codes[TN__BLOCK];
  if (from->small == NULL) return source;
  if (from->small->bits == 16) {
    from->small->decode(source, values);
  } else {
    unpack(from, source, codes);
    from->small->decode(codes, values);
  }
  return values;
}

static void encode(const side_t *to, const float *values, void *target) {
  uint16_t codes[TN__BLOCK];
  if (to->small == NULL) {
    if (target != values) memcpy(target, values, sizeof(float) * TN__BLOCK);
  } else if (to->small->bits == 16) {
    to->small->encode(values, target);
  } else {
    to->small->encode(values, codes);
    pack(to, codes, target);
  }
}

static void convert_block(const side_t *from, const void *source, const side_t *to, void *target) {
  float values[TN__BLOCK];
  encode(to, decode(from, source, to->small == NULL ? target : values), target);
}

int32_t tn_convert(const void *from, uint32_t from_type, void *to, uint32_t to_type, uint64_t count, uint32_t flags) {
  TN_REQUIRE((flags & ~(TN_CONVERT_FROM_PACKED | TN_CONVERT_TO_PACKED)) == 0 && count <= PTRDIFF_MAX / sizeof(float),
             "flags must be known, and count must fit into memory");
  side_t source, target;
  TN_TRY(side_of(from_type, (flags & TN_CONVERT_FROM_PACKED) != 0, &source));
  TN_TRY(side_of(to_type, (flags & TN_CONVERT_TO_PACKED) != 0, &target));
  const uint8_t *read = from;
  uint8_t *written = to;
  size_t left = (size_t)count;
  for (; left >= TN__BLOCK; left -= TN__BLOCK) {
    convert_block(&source, read, &target, written);
    read += bytes_of(&source, TN__BLOCK);
    written += bytes_of(&target, TN__BLOCK);
  }
  if (left == 0) return TN_OK;
  _Alignas(float) uint8_t last[sizeof(float) * TN__BLOCK] = {0}, result[sizeof(float) * TN__BLOCK];
  memcpy(last, read, bytes_of(&source, left));
  float values[TN__BLOCK], exact[TN__BLOCK] = {0};
  /* The last byte can have bits of elements that are not converted. */
  memcpy(exact, decode(&source, last, values), sizeof(float) * left);
  encode(&target, exact, result);
  memcpy(written, result, bytes_of(&target, left));
  return TN_OK;
}
