/* Validation of whole tensors from untrusted sources. */
#include <stdlib.h>

#include "read.h"
#include "varint.h"

/* Adds to the sum of sizes, which has a budget because many elements may refer to the same bytes. */
static inline bool add(tn_tstring_sums_t *sums, uint64_t size, uint64_t budget) {
  if (size > budget - sums->total) return false;
  sums->total += size;
  sums->not_small += size > TN_STRING_SMALL_CAPACITY ? size : 0;
  return true;
}

typedef struct {
  uint64_t start, end, index;
} extent_t;

static int by_start(const void *left, const void *right) {
  const extent_t *a = left, *b = right;
  if (a->start != b->start) return a->start < b->start ? -1 : 1;
  return (a->index > b->index) - (a->index < b->index);
}

/* Refuses OFFSET strings that share bytes, in one pass if they lie in order, as in most tensors, else after sorting. */
static int32_t check_overlap(const tn_tstring_tensor_t *t, size_t stride, tn_tstring_fault_t *fault) {
  uint64_t end = 0, extents = 0, behind = 0;
  for (uint64_t i = 0; i < t->count; i++) {
    const uint8_t *at = t->table + i * stride;
    const uint32_t word = tn__load32(at, false);
    const uint64_t start = i * stride + tn__load32(at + 4, false), size = word >> 2;
    // `counts` is all ones outside the struct. `behind` becomes negative if a string starts before the last end.
    uint64_t counts = 0 - (uint64_t)(((word & 3) == TN_TSTRING_OFFSET) & (size != 0));
    TN__OPAQUE(counts);
    extents -= counts;
    behind |= (start - end) & counts;
    end ^= (end ^ (start + size)) & counts;
  }
  const bool ordered = behind >> 63 == 0;
  if (ordered) return TN_OK;
  extent_t *list = extents > SIZE_MAX / sizeof *list ? NULL : malloc((size_t)extents * sizeof *list);
  if (list == NULL) return tn__fail(TN_OUT_OF_MEMORY, "no memory to compare %llu strings", (unsigned long long)extents);
  size_t n = 0;
  for (uint64_t i = 0; i < t->count && n < extents; i++) {
    const uint8_t *at = t->table + i * stride;
    const uint32_t word = tn__load32(at, false);
    if ((word & 3) != TN_TSTRING_OFFSET || word >> 2 == 0) continue;
    const uint64_t start = i * stride + tn__load32(at + 4, false);
    list[n++] = (extent_t){start, start + (word >> 2), i};
  }
  qsort(list, n, sizeof *list, by_start);
  int32_t status = TN_OK;
  for (size_t i = 1; i < n && status == TN_OK; i++)
    if (list[i].start < list[i - 1].end) status = FAULT(OVERLAP, list[i].index, list[i].start, list[i - 1].end);
  free(list);
  return status;
}

/* Checks the structs of a batch one after another, to find the one that is malformed. */
TN__COLD int32_t check_each(const tn_tstring_tensor_t *t, uint64_t first, uint64_t n, bool with_nul, uint64_t budget,
                            tn_tstring_sums_t *sums, tn_tstring_fault_t *fault) {
  const size_t stride = tn__struct_size(t->layout), small = tn__small_capacity(t->layout);
  const uint64_t table = t->count * stride;
  for (uint64_t i = first; i < first + n; i++) {
    const uint8_t *at = t->table + i * stride;
    const uint32_t word = tn__load32(at, false), offset = tn__load32(at + 4, false);
    TN__LOADED();
    const uint32_t type = word & 3, size = type == TN_TSTRING_SMALL ? (word & 0xff) >> 2 : word >> 2;
    const uint64_t start = i * stride + offset;
    if (type == TN_TSTRING_SMALL) {
      if (size > small) return FAULT(SMALL_SIZE, i, size, small);
      const uint8_t end = with_nul ? at[1 + size] : 0;
      if (end != 0) return FAULT(SMALL_NUL, i, end, size);
    } else if (type == TN_TSTRING_OFFSET) {
      if (start < table) return FAULT(OFFSET_START, i, start, table);
      if (start + size > t->data_size) return FAULT(OFFSET_END, i, start + size, t->data_size);
    } else {
      return FAULT(STRUCT_TYPE, i, type, 0);
    }
    if (!add(sums, size, budget)) return FAULT(BUDGET, i, size, budget - sums->total);
  }
  return TN_OK;
}

#define BATCH 64

/* Returns whether the structs of a batch are valid, and adds up their sizes. Processors cannot predict how SMALL and
 * OFFSET alternate, so both are checked by the same computation, without a branch. A negative number is an error,
 * because sizes and offsets are far below 2^63. */
TN__HOT bool check_batch(const tn_tstring_tensor_t *t, uint64_t index, uint64_t n, size_t stride, size_t small,
                         bool with_nul, tn_tstring_sums_t *sums) {
  const uint64_t table = t->count * stride, room = t->data_size - table;
  const uint8_t *at = t->table + index * stride;
  uint64_t ahead = table - index * stride; /* to the end of the table */
  uint64_t negative = 0, odd = 0, ends = 0, total = 0, not_small = 0;
  for (uint64_t i = 0; i < n; i++, at += stride, ahead -= stride) {
    const uint64_t words = tn__load32(at, false) | (uint64_t)tn__load32(at + 4, false) << 32;
    // All ones for OFFSET, zero for SMALL. The first byte of other types is odd.
    uint64_t as_offset = 0 - (words >> 1 & 1);
    TN__OPAQUE(as_offset);
    const uint64_t size = ((uint32_t)words & (as_offset | 0xff)) >> 2;
    if (with_nul) ends |= at[1 + (size < small ? size : small)] & ~as_offset;
    TN__LOADED();
    const uint64_t start = ((words >> 32) - ahead) & as_offset, limit = small ^ ((small ^ room) & as_offset);
    negative |= start | (limit - start - size);
    odd |= words;
    total += size;
    not_small += size > TN_STRING_SMALL_CAPACITY ? size : 0;
  }
  sums->total += total;
  sums->not_small += not_small;
  return !((negative >> 63) | (odd & 1) | ends);
}

TN__HOT int32_t validate_each(const tn_tstring_tensor_t *t, size_t stride, size_t small, bool with_nul, uint64_t budget,
                              tn_tstring_sums_t *sums, tn_tstring_fault_t *fault) {
  for (uint64_t i = 0; i < t->count; i += BATCH) {
    const tn_tstring_sums_t before = *sums;
    const uint64_t n = t->count - i < BATCH ? t->count - i : BATCH;
    if (check_batch(t, i, n, stride, small, with_nul, sums) && sums->total <= budget) continue;
    *sums = before;
    TN_TRY(check_each(t, i, n, with_nul, budget, sums, fault));
  }
  return TN_OK;
}

static int32_t validate_structs(const tn_tstring_tensor_t *tensor, bool strict, uint64_t budget,
                                tn_tstring_sums_t *sums, tn_tstring_fault_t *fault) {
  const tn_tstring_tensor_t t = *tensor;
  if (t.layout == TN_TSTRING_RFC16)
    TN_TRY(validate_each(&t, 16, 15, false, budget, sums, fault));
  else if (t.layout == TN_TSTRING_RFC24)
    TN_TRY(validate_each(&t, 24, 23, false, budget, sums, fault));
  else if (strict)
    TN_TRY(validate_each(&t, 24, TN_STRING_SMALL_CAPACITY, true, budget, sums, fault));
  else
    TN_TRY(validate_each(&t, 24, TN_STRING_SMALL_CAPACITY, false, budget, sums, fault));
  return t.flags & TN_TSTRING_WRITABLE ? check_overlap(&t, tn__struct_size(t.layout), fault) : TN_OK;
}

static int32_t validate_legacy(const tn_tstring_tensor_t *t, bool strict, uint64_t budget, tn_tstring_sums_t *sums,
                               tn_tstring_fault_t *fault) {
  const bool big_endian = tn__is_big_endian(t->abi);
  const uint64_t table = 8 * t->count;
  if (t->data_size < table) return FAULT(TABLE_SIZE, t->count, t->data_size, 8);
  const uint64_t rest = t->data_size - table;
  uint64_t expected = 0;
  for (uint64_t i = 0; i < t->count; i++) {
    const uint64_t offset = tn__load64(t->table + 8 * i, big_endian);
    TN__LOADED();
    tn__prefetch_legacy(t, i, big_endian);
    if (offset >= rest) return FAULT(LEGACY_OFFSET, i, offset, rest);
    if (strict && offset != expected) return FAULT(LEGACY_TIGHT, i, offset, expected);
    uint64_t size;
    const size_t prefix = tn__read_length(t->data + table + offset, rest - offset, &size);
    if (prefix == 0) return FAULT(VARINT, i, offset, rest);
    if (size > rest - offset - prefix) return FAULT(LEGACY_LENGTH, i, size, rest - offset - prefix);
    // The last byte of a canonical varint is not zero.
    if (strict && prefix > 1 && size >> 7 * (prefix - 1) == 0)
      return FAULT(VARINT_CANONICAL, i, prefix, tn__varint_size(size));
    expected = offset + prefix + size;
    if (!add(sums, size, budget)) return FAULT(BUDGET, i, size, budget - sums->total);
  }
  return strict && expected != rest ? FAULT(LEGACY_TIGHT, t->count, rest, expected) : TN_OK;
}

static int32_t validate_tflite(const tn_tstring_tensor_t *t, bool strict, uint64_t budget, tn_tstring_sums_t *sums,
                               tn_tstring_fault_t *fault) {
  const bool big_endian = tn__is_big_endian(t->abi);
  if (t->table_size == 0 && t->count == 0 && !strict) return TN_OK;
  const uint64_t least = strict ? 8 : 4;
  if (t->table_size < least || t->data_size < least) return FAULT(TFLITE_HEADER, 0, t->data_size, 8);
  const uint32_t count = tn__load32(t->table, big_endian);
  TN__LOADED();
  if (count > TN__INT32_MAXIMUM - 2) return FAULT(TFLITE_COUNT, 0, count, TN__INT32_MAXIMUM - 2);
  if (count != t->count) return FAULT(TFLITE_COUNT, 0, count, t->count);
  // TFLite's readers find no strings after a count of zero, whatever follows.
  if (count == 0 && !strict) return TN_OK;
  const uint64_t header = 4 * (t->count + 2);
  if (t->data_size < header) return FAULT(TFLITE_HEADER, 0, t->data_size, header);
  uint64_t previous = header;
  // The last word is one more offset, the end of the last string.
  for (uint64_t i = 0; i <= t->count; i++) {
    const uint32_t offset = tn__load32(t->table + 4 + 4 * i, big_endian);
    TN__LOADED();
    if (offset < header || offset > t->data_size || offset > TN__INT32_MAXIMUM)
      return FAULT(TFLITE_RANGE, i, offset, t->data_size);
    if (offset < previous) return FAULT(TFLITE_ORDER, i, offset, previous);
    if (strict && i == 0 && offset != header) return FAULT(TFLITE_FIRST, 0, offset, header);
    if (i > 0 && !add(sums, offset - previous, budget))
      return FAULT(BUDGET, i - 1, offset - previous, budget - sums->total);
    previous = offset;
  }
  return strict && previous != t->data_size ? FAULT(TFLITE_TOTAL, t->count, previous, t->data_size) : TN_OK;
}

static int32_t validate_arrow(const tn_tstring_tensor_t *t, uint64_t budget, tn_tstring_sums_t *sums,
                              tn_tstring_fault_t *fault) {
  tn__span_t spans[TN__BLOCK];
  for (uint64_t first = 0; first < t->count; first += TN__BLOCK) {
    const size_t n = tn__block_of(t->count, first);
    TN_TRY(tn__tstring_spans(t, NULL, first, n, spans, fault));
    for (size_t i = 0; i < n; i++)
      if (!add(sums, spans[i].size, budget)) return FAULT(BUDGET, first + i, spans[i].size, budget - sums->total);
  }
  return TN_OK;
}

int32_t tn_tstring_validate(const tn_tstring_tensor_t *tensor, int32_t strict, uint64_t budget, tn_tstring_sums_t *sums,
                            tn_tstring_fault_t *fault) {
  tn_tstring_sums_t found = {0, 0};
  TN_TRY(tn__tstring_check_table(tensor, fault));
  if (tensor->layout == TN_TSTRING_LEGACY)
    TN_TRY(validate_legacy(tensor, strict, budget, &found, fault));
  else if (tensor->layout == TN_TSTRING_TFLITE)
    TN_TRY(validate_tflite(tensor, strict, budget, &found, fault));
  else if (tn__is_struct_layout(tensor->layout))
    TN_TRY(validate_structs(tensor, strict, budget, &found, fault));
  else
    TN_TRY(validate_arrow(tensor, budget, &found, fault));
  *sums = found;
  return TN_OK;
}
