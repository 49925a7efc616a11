/* The readers of all layouts, which find the bytes of an element's string. */
#include "read.h"
#include "varint.h"

int32_t tn__tstring_fault(tn_tstring_fault_t *fault, int32_t check, uint64_t index, uint64_t value, uint64_t limit) {
  fault->check = check;
  fault->index = index;
  fault->value = value;
  fault->limit = limit;
  return tn__fail(TN_INVALID_ARGUMENT, "check %d failed at element %llu: %llu, limit %llu", check,
                  (unsigned long long)index, (unsigned long long)value, (unsigned long long)limit);
}

const tn__table_t tn__tstring_tables[] = {
    [TN_TSTRING_TF] = {24, 0},    [TN_TSTRING_RFC16] = {16, 0},  [TN_TSTRING_RFC24] = {24, 0},
    [TN_TSTRING_LEGACY] = {8, 0}, [TN_TSTRING_TFLITE] = {4, 8},  [TN_TSTRING_ARROW32] = {4, 4},
    [TN_TSTRING_ARROW64] = {8, 8},
};

int32_t tn__tstring_check_layout(int32_t layout, int32_t abi) {
  TN_REQUIRE(layout >= TN_TSTRING_TF && layout <= TN_TSTRING_ARROW64, "layout must be from 0 to 6, got %d", layout);
  TN_REQUIRE(abi >= TN_TSTRING_LE64 && abi <= TN_TSTRING_BE32, "abi must be from 0 to 3, got %d", abi);
  return TN_OK;
}

int32_t tn__tstring_check_table(const tn_tstring_tensor_t *t, tn_tstring_fault_t *fault) {
  TN_TRY(tn__tstring_check_layout(t->layout, t->abi));
  // A tensor without elements may have no buffer, even if its layout has a header. TFLite's readers stop at its count.
  if (t->count == 0 && (t->table_size == 0 || (t->layout == TN_TSTRING_TFLITE && t->table_size >= 4))) return TN_OK;
  const tn__table_t table = tn__tstring_tables[t->layout];
  if (t->table_size < table.extra || (t->table_size - table.extra) / table.stride < t->count)
    return FAULT(TABLE_SIZE, t->count, t->table_size, table.stride);
  return TN_OK;
}

/* Reads a string at a pointer inside a struct, if FOLLOW allows it. */
TN__COLD int32_t read_pointer(const tn_tstring_tensor_t *t, uint64_t index, int type, size_t pointer, uint64_t size,
                            tn__span_t *span, tn_tstring_fault_t *fault) {
  if (!(t->flags & TN_TSTRING_FOLLOW) || t->abi != TN__HOST_ABI) return FAULT(STRUCT_TYPE, index, (uint64_t)type, 0);
  if ((pointer == 0 && size != 0) || size > PTRDIFF_MAX) return FAULT(POINTER, index, pointer, size);
  *span = (tn__span_t){(const uint8_t *)pointer, size, size};
  return TN_OK;
}

/* Reads one struct of any type. The other readers call it for uncommon and malformed structs. */
TN__COLD int32_t read_any(const tn_tstring_tensor_t *t, uint64_t index, tn__span_t *span, tn_tstring_fault_t *fault) {
  const size_t stride = tn__struct_size(t->layout), small = tn__small_capacity(t->layout);
  const uint8_t *at = t->table + index * stride;
  const size_t size_word = tn__load_word(at), view_word = tn__load_word(at + sizeof(size_t));
  // The pointer of a LARGE is its last word. The struct of 16 bytes has no capacity before it.
  const size_t large_word = stride == 16 ? view_word : tn__load_word(at + 2 * sizeof(size_t));
  const size_t prealloc_word = tn__load_word(at + 8);
  const uint32_t first = tn__load32(at, false), second = tn__load32(at + 4, false);
  TN__LOADED();
  const int type = first & 3;
  if (type == TN_TSTRING_SMALL) {
    *span = (tn__span_t){at + 1, (first & 0xff) >> 2, (t->count - index) * stride - 1};
    return span->size <= small ? TN_OK : FAULT(SMALL_SIZE, index, span->size, small);
  }
  if (type == TN_TSTRING_OFFSET) {
    const uint64_t start = index * stride + second, size = first >> 2;
    if (start + size > t->data_size) return FAULT(OFFSET_END, index, start + size, t->data_size);
    *span = (tn__span_t){t->data + start, size, t->data_size - start};
    return TN_OK;
  }
  if (type == TN_TSTRING_LARGE) {
    TN_TRY(read_pointer(t, index, type, large_word, tn_string__size_of_word(size_word), span, fault));
    const bool is_rfc = t->layout != TN_TSTRING_TF && large_word != 0;
    return is_rfc && !tn__has_block(large_word, t->layout) ? FAULT(POINTER, index, large_word, 0) : TN_OK;
  }
  if (t->layout == TN_TSTRING_TF)
    return read_pointer(t, index, type, view_word, tn_string__size_of_word(size_word), span, fault);
  const uint32_t narrow = TN_STRING__BIG_ENDIAN ? tn__swap32(first) : first;
  return read_pointer(t, index, type, prealloc_word, tn__size_of_word32(narrow), span, fault);
}

/* Selects a value without a branch, because processors cannot predict how SMALL and long strings alternate. */
TN__HOT uint64_t either(uint64_t mask, uint64_t yes, uint64_t no) { return no ^ ((yes ^ no) & mask); }

/* Reads a struct of a tensor whose long strings are VIEW or PREALLOC. */
TN__HOT int32_t read_pointer_struct(const tn_tstring_tensor_t *t, uint64_t index, size_t stride, bool is_tf,
                                    tn__span_t *span, tn_tstring_fault_t *fault) {
  const uint8_t *at = t->table + index * stride;
  const size_t size_word = tn__load_word(at), pointer = tn__load_word(at + (is_tf ? sizeof(size_t) : 8));
  TN__LOADED();
  uint8_t head;
  memcpy(&head, &size_word, 1);
  uint32_t narrow;
  memcpy(&narrow, &size_word, 4);
  uint64_t mask = 0 - (uint64_t)((head & 3) == TN_TSTRING_SMALL);
  TN__OPAQUE(mask);
  const uint64_t size = either(mask, head >> 2, is_tf ? tn_string__size_of_word(size_word) : tn__size_of_word32(narrow));
  const uint64_t data = either(mask, (uintptr_t)(at + 1), pointer);
  const uint64_t limit = either(mask, is_tf ? TN_STRING_SMALL_CAPACITY : stride - 1, PTRDIFF_MAX);
  const bool is_common = ((head & 3) == TN_TSTRING_SMALL) | ((head & 3) == TN_TSTRING_VIEW);
  if (!(is_common & (size <= limit) & (data != 0))) return read_any(t, index, span, fault);
  *span = (tn__span_t){(const uint8_t *)(uintptr_t)data, size, either(mask, (t->count - index) * stride - 1, size)};
  return TN_OK;
}

TN__HOT int32_t read_offset_struct(const tn_tstring_tensor_t *t, uint64_t index, size_t stride, size_t small,
                                   tn__span_t *span, tn_tstring_fault_t *fault) {
  const uint8_t *at = t->table + index * stride;
  const uint32_t first = tn__load32(at, false), second = tn__load32(at + 4, false);
  TN__LOADED();
  uint64_t mask = 0 - (uint64_t)((first & 3) == TN_TSTRING_SMALL);
  TN__OPAQUE(mask);
  const uint64_t size = either(mask, (first & 0xff) >> 2, first >> 2), start = index * stride + second;
  const uint64_t room = either(mask, (t->count - index) * stride - 1, t->data_size - start);
  // The room of an OFFSET that starts after the end is negative, and refused below.
  const uint64_t limit = either(mask, small, room);
  const bool is_common = ((first & 3) == TN_TSTRING_SMALL) | ((first & 3) == TN_TSTRING_OFFSET);
  if (!(is_common & (size <= limit) & (room <= PTRDIFF_MAX))) return read_any(t, index, span, fault);
  const uintptr_t data = either(mask, (uintptr_t)(at + 1), (uintptr_t)t->data + start);
  *span = (tn__span_t){(const uint8_t *)data, size, room};
  return TN_OK;
}

TN__HOT int32_t read_legacy(const tn_tstring_tensor_t *t, uint64_t index, bool big_endian, tn__span_t *span,
                                  tn_tstring_fault_t *fault) {
  const uint64_t offset = tn__load64(t->table + 8 * index, big_endian);
  TN__LOADED();
  tn__prefetch_legacy(t, index, big_endian);
  const uint64_t table = 8 * t->count, rest = t->data_size < table ? 0 : t->data_size - table;
  if (offset >= rest) return FAULT(LEGACY_OFFSET, index, offset, rest);
  const uint8_t *at = t->data + table + offset;
  uint64_t size;
  const size_t prefix = tn__read_length(at, rest - offset, &size);
  if (prefix == 0) return FAULT(VARINT, index, offset, rest);
  const uint64_t room = rest - offset - prefix;
  if (size > room) return FAULT(LEGACY_LENGTH, index, size, room);
  *span = (tn__span_t){at + prefix, size, room};
  return TN_OK;
}

TN__HOT int32_t read_tflite(const tn_tstring_tensor_t *t, uint64_t index, bool big_endian, tn__span_t *span,
                                  tn_tstring_fault_t *fault) {
  const uint32_t start = tn__load32(t->table + 4 + 4 * index, big_endian);
  const uint32_t end = tn__load32(t->table + 8 + 4 * index, big_endian);
  TN__LOADED();
  if (start > end || start > TN__INT32_MAXIMUM) return FAULT(TFLITE_ORDER, index, start, end);
  if (end > t->data_size) return FAULT(TFLITE_RANGE, index, end, t->data_size);
  *span = (tn__span_t){t->data + start, end - start, t->data_size - start};
  return TN_OK;
}

TN__HOT int32_t read_arrow(const tn_tstring_tensor_t *t, uint64_t index, bool wide, tn__span_t *span,
                                 tn_tstring_fault_t *fault) {
  // Negative offsets are huge unsigned numbers, so that one comparison refuses them.
  const uint64_t start =
      wide ? tn__load64(t->table + 8 * index, TN_STRING__BIG_ENDIAN) : tn__load32(t->table + 4 * index, TN_STRING__BIG_ENDIAN);
  const uint64_t end = wide ? tn__load64(t->table + 8 * index + 8, TN_STRING__BIG_ENDIAN)
                            : tn__load32(t->table + 4 * index + 4, TN_STRING__BIG_ENDIAN);
  TN__LOADED();
  if (start > end) return FAULT(ARROW_ORDER, index, start, end);
  if (end > t->data_size) return FAULT(ARROW_RANGE, index, end, t->data_size);
  *span = (tn__span_t){t->data + start, end - start, t->data_size - start};
  return TN_OK;
}

/* The loop over one layout. Each layout has a function of its own, in which its constants are known. */
#define READER(name, read)                                                                                          \
  TN__LOOP int32_t name(const tn_tstring_tensor_t *tensor, const uint32_t *selection, uint64_t first, size_t n,     \
                        tn__span_t *spans, tn_tstring_fault_t *fault) {                                             \
    /* A copy stays in registers, because no other pointer can refer to it. */                                      \
    const tn_tstring_tensor_t t = *tensor;                                                                          \
    if (selection == NULL) {                                                                                        \
      if (n > t.count || first > t.count - n) return FAULT(SELECTION, first, first, t.count);                       \
      for (size_t k = 0; k < n; k++) {                                                                              \
        const uint64_t index = first + k;                                                                           \
        TN_TRY(read);                                                                                               \
      }                                                                                                             \
      return TN_OK;                                                                                                 \
    }                                                                                                               \
    for (size_t k = 0; k < n; k++) {                                                                                \
      const uint64_t index = selection[k];                                                                          \
      if (index >= t.count) return FAULT(SELECTION, first + k, index, t.count);                                     \
      TN_TRY(read);                                                                                                 \
    }                                                                                                               \
    return TN_OK;                                                                                                   \
  }

READER(read_tf, read_offset_struct(&t, index, 24, TN_STRING_SMALL_CAPACITY, &spans[k], fault))
READER(read_tf_pointers, read_pointer_struct(&t, index, 24, true, &spans[k], fault))
READER(read_rfc16, read_offset_struct(&t, index, 16, 15, &spans[k], fault))
READER(read_rfc16_pointers, read_pointer_struct(&t, index, 16, false, &spans[k], fault))
READER(read_rfc24, read_offset_struct(&t, index, 24, 23, &spans[k], fault))
READER(read_rfc24_pointers, read_pointer_struct(&t, index, 24, false, &spans[k], fault))
READER(read_legacy_le, read_legacy(&t, index, false, &spans[k], fault))
READER(read_legacy_be, read_legacy(&t, index, true, &spans[k], fault))
READER(read_tflite_le, read_tflite(&t, index, false, &spans[k], fault))
READER(read_tflite_be, read_tflite(&t, index, true, &spans[k], fault))
READER(read_arrow32, read_arrow(&t, index, false, &spans[k], fault))
READER(read_arrow64, read_arrow(&t, index, true, &spans[k], fault))

int32_t tn__tstring_spans(const tn_tstring_tensor_t *t, const uint32_t *selection, uint64_t first, size_t n,
                          tn__span_t *spans, tn_tstring_fault_t *fault) {
  const bool big_endian = tn__is_big_endian(t->abi);
  const bool follows = (t->flags & TN_TSTRING_FOLLOW) && t->abi == TN__HOST_ABI;
  switch (t->layout) {
    case TN_TSTRING_TF:
      return (follows ? read_tf_pointers : read_tf)(t, selection, first, n, spans, fault);
    case TN_TSTRING_RFC16:
      return (follows ? read_rfc16_pointers : read_rfc16)(t, selection, first, n, spans, fault);
    case TN_TSTRING_RFC24:
      return (follows ? read_rfc24_pointers : read_rfc24)(t, selection, first, n, spans, fault);
    case TN_TSTRING_LEGACY:
      return (big_endian ? read_legacy_be : read_legacy_le)(t, selection, first, n, spans, fault);
    case TN_TSTRING_TFLITE:
      return (big_endian ? read_tflite_be : read_tflite_le)(t, selection, first, n, spans, fault);
    case TN_TSTRING_ARROW32:
      return read_arrow32(t, selection, first, n, spans, fault);
    default:
      return read_arrow64(t, selection, first, n, spans, fault);
  }
}

int32_t tn_tstring_read(const tn_tstring_tensor_t *tensor, uint64_t index, uint8_t *out, uint64_t capacity,
                        uint64_t *byte_size, tn_tstring_fault_t *fault) {
  TN_TRY(tn__tstring_check_table(tensor, fault));
  tn__span_t span;
  TN_TRY(tn__tstring_spans(tensor, NULL, index, 1, &span, fault));
  const uint64_t copied = span.size < capacity ? span.size : capacity;
  if (copied != 0) memcpy(out, span.data, copied);
  *byte_size = span.size;
  return TN_OK;
}
