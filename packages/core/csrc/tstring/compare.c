/* Functions that read the bytes of every element: compare, find, hash, and check for UTF-8. */
#include "read.h"

static inline int8_t compare(const tn__span_t *a, const tn__span_t *b) {
  const uint64_t shorter = a->size < b->size ? a->size : b->size;
  const int order = shorter == 0 ? 0 : memcmp(a->data, b->data, (size_t)shorter);
  if (order != 0) return order < 0 ? -1 : 1;
  return (int8_t)((a->size > b->size) - (a->size < b->size));
}

int32_t tn_tstring_compare(const tn_tstring_tensor_t *tensor, const tn_tstring_tensor_t *other, int8_t *out,
                           tn_tstring_fault_t *fault) {
  TN_REQUIRE(other->count == tensor->count || other->count == 1, "other must have one element or as many as tensor");
  TN_TRY(tn__tstring_check_table(tensor, fault));
  TN_TRY(tn__tstring_check_table(other, fault));
  tn__span_t left[TN__BLOCK], right[TN__BLOCK];
  const bool one = other->count == 1;
  if (one) TN_TRY(tn__tstring_spans(other, NULL, 0, 1, right, fault));
  for (uint64_t first = 0; first < tensor->count; first += TN__BLOCK) {
    const size_t n = tn__block_of(tensor->count, first);
    TN_TRY(tn__tstring_spans(tensor, NULL, first, n, left, fault));
    if (!one) TN_TRY(tn__tstring_spans(other, NULL, first, n, right, fault));
    for (size_t i = 0; i < n; i++) out[first + i] = compare(&left[i], &right[one ? 0 : i]);
  }
  return TN_OK;
}

/* Runs `body` for every element from `from` on, with its `span` and `at`, its index. A malformed element is a fault only
 * when its turn comes, so an answer before it is found. */
#define EACH(tensor, from, body)                                                              \
  do {                                                                                        \
    TN_TRY(tn__tstring_check_table(tensor, fault));                                           \
    tn__span_t spans[TN__BLOCK];                                                              \
    for (uint64_t first = (from); first < (tensor)->count; first += TN__BLOCK) {              \
      const size_t n = tn__block_of((tensor)->count, first);                                  \
      const int32_t status = tn__tstring_spans(tensor, NULL, first, n, spans, fault);         \
      const size_t valid = status == TN_OK ? n : (size_t)(fault->index - first);              \
      for (size_t i = 0; i < valid; i++) {                                                    \
        const tn__span_t span = spans[i];                                                     \
        const uint64_t at = first + i;                                                        \
        body                                                                                  \
      }                                                                                       \
      TN_TRY(status);                                                                         \
    }                                                                                         \
  } while (0)

int32_t tn_tstring_find(const tn_tstring_tensor_t *tensor, const uint8_t *bytes, uint64_t byte_size, uint64_t from,
                        uint64_t *index, tn_tstring_fault_t *fault) {
  EACH(tensor, from, {
    if (span.size == byte_size && (byte_size == 0 || memcmp(span.data, bytes, (size_t)byte_size) == 0)) {
      *index = at;
      return TN_OK;
    }
  });
  *index = tensor->count;
  return TN_OK;
}

/* --- XXH32, which gives the same number on every machine ---------------------------------------------------------- */

#define PRIME1 0x9E3779B1u
#define PRIME2 0x85EBCA77u
#define PRIME3 0xC2B2AE3Du
#define PRIME4 0x27D4EB2Fu
#define PRIME5 0x165667B1u

static inline uint32_t rotate(uint32_t value, int by) { return value << by | value >> (32 - by); }

static inline uint32_t step(uint32_t lane, const uint8_t *at) {
  return rotate(lane + tn__load32(at, false) * PRIME2, 13) * PRIME1;
}

static uint32_t hash(const uint8_t *at, uint64_t size, uint32_t seed) {
  uint64_t rest = size;
  uint32_t result = seed + PRIME5;
  if (size >= 16) {
    uint32_t lanes[4] = {seed + PRIME1 + PRIME2, seed + PRIME2, seed, seed - PRIME1};
    for (; rest >= 16; rest -= 16, at += 16)
      for (int lane = 0; lane < 4; lane++) lanes[lane] = step(lanes[lane], at + 4 * lane);
    result = rotate(lanes[0], 1) + rotate(lanes[1], 7) + rotate(lanes[2], 12) + rotate(lanes[3], 18);
  }
  result += (uint32_t)size;
  for (; rest >= 4; rest -= 4, at += 4) result = rotate(result + tn__load32(at, false) * PRIME3, 17) * PRIME4;
  for (; rest > 0; rest--, at++) result = rotate(result + *at * PRIME5, 11) * PRIME1;
  result = (result ^ result >> 15) * PRIME2;
  result = (result ^ result >> 13) * PRIME3;
  return result ^ result >> 16;
}

int32_t tn_tstring_hash(const tn_tstring_tensor_t *tensor, uint32_t seed, uint32_t *out, tn_tstring_fault_t *fault) {
  EACH(tensor, 0, { out[at] = hash(span.data, span.size, seed); });
  return TN_OK;
}

/* --- UTF-8 (RFC 3629): no surrogates, no over-long forms, nothing above U+10FFFF ---------------------------------- */

static inline bool is_continuation(uint8_t byte) { return (byte & 0xc0) == 0x80; }

static bool is_utf8(const uint8_t *at, uint64_t size) {
  const uint8_t *end = size == 0 ? at : at + size;
  while (at < end) {
    if (end - at >= 8) {
      uint64_t eight;
      memcpy(&eight, at, 8);
      if ((eight & 0x8080808080808080u) == 0) {
        at += 8;
        continue;
      }
    }
    const uint8_t lead = *at++;
    if (lead < 0x80) continue;
    const size_t more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
    if (lead < 0xc2 || lead > 0xf4 || (size_t)(end - at) < more) return false;
    const uint8_t second = at[0];
    if (!is_continuation(second)) return false;
    if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f)) return false;
    if ((lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f)) return false;
    for (size_t i = 1; i < more; i++)
      if (!is_continuation(at[i])) return false;
    at += more;
  }
  return true;
}

int32_t tn_tstring_find_invalid_utf8(const tn_tstring_tensor_t *tensor, uint64_t from, uint64_t *index,
                                     tn_tstring_fault_t *fault) {
  EACH(tensor, from, {
    if (!is_utf8(span.data, span.size)) {
      *index = at;
      return TN_OK;
    }
  });
  *index = tensor->count;
  return TN_OK;
}
