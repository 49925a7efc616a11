/* Functions that the files of string tensors share: words of every ABI, spans, and the readers of all layouts. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "base/status.h"
#include "tenon_tstring.h"

#define TN__HOST_ABI                                                          \
  (sizeof(void *) == 8 ? (TN_STRING__BIG_ENDIAN ? TN_TSTRING_BE64 : TN_TSTRING_LE64) \
                       : (TN_STRING__BIG_ENDIAN ? TN_TSTRING_BE32 : TN_TSTRING_LE32))

/* A function that a loop over millions of strings calls for each of them (HOT), such a loop, which needs all registers
 * (LOOP), and a function that it rarely calls (COLD). Compilers choose badly without these attributes. */
#if defined(__GNUC__)
#define TN__HOT static inline __attribute__((always_inline))
#define TN__LOOP static __attribute__((noinline))
#define TN__COLD static __attribute__((noinline, cold))
/* Hides the origin of a number from the compiler, so that it does not turn a mask into a branch. */
#define TN__OPAQUE(number) __asm__("" : "+r"(number))
/* A prefetch is a hint, so any address is allowed. */
#define TN__PREFETCH(address) __builtin_prefetch((const void *)(uintptr_t)(address))
#else
#define TN__HOT static inline
#define TN__LOOP static
#define TN__COLD static
#define TN__OPAQUE(number) ((void)0)
#define TN__PREFETCH(address) ((void)(address))
#endif

#define TN__OFFSET_STRING_MAXIMUM ((uint64_t)0x3fffffff)
#define TN__INT32_MAXIMUM ((uint64_t)0x7fffffff)
#define TN__UINT32_MAXIMUM ((uint64_t)0xffffffff)

/* Whether malloc() can have returned the block whose characters a LARGE of the RFC refers to. It cannot where the string was written as one of
 * TensorFlow's, whose pointer refers to the start of its block: freeing that as a block of the RFC would end the process. */
bool tn__has_block(size_t characters, int32_t layout);

/* Memory that others may change is loaded once. After this fence the compiler cannot load it again. */
#define TN__LOADED() atomic_signal_fence(memory_order_acquire)

/* --- words at any address ----------------------------------------------------------------------------------------- */

static inline uint32_t tn__swap32(uint32_t value) {
  return value >> 24 | (value >> 8 & 0xff00u) | (value << 8 & 0xff0000u) | value << 24;
}

static inline uint64_t tn__swap64(uint64_t value) {
  return (uint64_t)tn__swap32((uint32_t)value) << 32 | tn__swap32((uint32_t)(value >> 32));
}

static inline uint32_t tn__load32(const void *at, bool big_endian) {
  uint32_t value;
  memcpy(&value, at, sizeof value);
  return big_endian == TN_STRING__BIG_ENDIAN ? value : tn__swap32(value);
}

static inline uint64_t tn__load64(const void *at, bool big_endian) {
  uint64_t value;
  memcpy(&value, at, sizeof value);
  return big_endian == TN_STRING__BIG_ENDIAN ? value : tn__swap64(value);
}

static inline void tn__store32(void *at, uint32_t value, bool big_endian) {
  if (big_endian != TN_STRING__BIG_ENDIAN) value = tn__swap32(value);
  memcpy(at, &value, sizeof value);
}

static inline void tn__store64(void *at, uint64_t value, bool big_endian) {
  if (big_endian != TN_STRING__BIG_ENDIAN) value = tn__swap64(value);
  memcpy(at, &value, sizeof value);
}

static inline size_t tn__load_word(const void *at) {
  size_t value;
  memcpy(&value, at, sizeof value);
  return value;
}

static inline void tn__store_word(void *at, size_t value) { memcpy(at, &value, sizeof value); }

#define AT(string, offset) ((uint8_t *)(string) + (offset))

/* --- size words of the host, of which tenon/tstring.h has those of a machine word ---------------------------------- */

/* The 32-bit words of PREALLOC, in the host's order. */
#define TN__WORD32_SIZE_MAXIMUM (UINT32_MAX >> 2)

static inline uint32_t tn__size_of_word32(uint32_t word) {
  return TN_STRING__BIG_ENDIAN ? (word & 0xffffffu) | word >> 26 << 24 : word >> 2;
}

static inline uint32_t tn__word32_of_size(uint32_t size, int type) {
  if (!TN_STRING__BIG_ENDIAN) return size << 2 | (uint32_t)type;
  return (size << 2 & 0xff000000u) | (size & 0xffffffu) | (uint32_t)type << 24;
}

/* --- layouts ------------------------------------------------------------------------------------------------------ */

static inline bool tn__is_struct_layout(int32_t layout) {
  return layout == TN_TSTRING_TF || layout == TN_TSTRING_RFC16 || layout == TN_TSTRING_RFC24;
}

static inline size_t tn__struct_size(int32_t layout) { return layout == TN_TSTRING_RFC16 ? 16 : 24; }

static inline size_t tn__small_capacity(int32_t layout) {
  return layout == TN_TSTRING_TF ? TN_STRING_SMALL_CAPACITY : tn__struct_size(layout) - 1;
}

static inline bool tn__is_big_endian(int32_t abi) { return abi == TN_TSTRING_BE64 || abi == TN_TSTRING_BE32; }

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* The bytes of one string, and the number of bytes that may be read from their start. */
typedef struct {
  const uint8_t *data;
  uint64_t size;
  uint64_t room;
} tn__span_t;

/* The number of spans that are read before they are used, while their bytes are still in the cache. */
#define TN__BLOCK 16

static inline size_t tn__block_of(uint64_t count, uint64_t done) {
  return count - done < TN__BLOCK ? (size_t)(count - done) : TN__BLOCK;
}

/* The distance of prefetches, in strings. */
#define TN__AHEAD 32

/* Prefetches the length of a later string, which precedes its bytes, so that the reader does not wait for memory. */
TN__HOT void tn__prefetch_legacy(const tn_tstring_tensor_t *t, uint64_t index, bool big_endian) {
  if (index + TN__AHEAD < t->count)
    TN__PREFETCH((uintptr_t)t->data + 8 * t->count + tn__load64(t->table + 8 * (index + TN__AHEAD), big_endian));
}
