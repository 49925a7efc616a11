/* Conversion, which measures a target and then writes it. Blocks of spans are read and written, so that each layout
 * needs only one reader and one writer. */
#include <stdlib.h>

#include "read.h"
#include "varint.h"

/* The state of writing. It has a copy of the target, so that constants stay in registers. */
typedef struct {
  tn_tstring_target_t target;
  uint64_t index;   /* of the next element */
  uint64_t data_at; /* bytes written to target.data */
} writer_t;

/* The result of a writer when the strings exceed the target. It is not a status of the core. */
#define GREW 1

static int32_t check_target(const tn_tstring_target_t *target) {
  TN_TRY(tn__tstring_check_layout(target->layout, target->abi));
  if (!tn__is_struct_layout(target->layout)) return TN_OK;
  TN_REQUIRE(target->form >= TN_TSTRING_AS_OFFSET && target->form <= TN_TSTRING_AS_BORROWED,
             "form must be from 0 to 3, got %d", target->form);
  TN_REQUIRE(target->form == TN_TSTRING_AS_OFFSET || target->abi == TN__HOST_ABI,
             "abi must be that of this machine for pointers, got %d", target->abi);
  return TN_OK;
}

static uint64_t table_size(const tn_tstring_target_t *target, uint64_t count) {
  return tn__tstring_tables[target->layout].stride * count + tn__tstring_tables[target->layout].extra;
}

/* The largest size of a string of a struct layout. */
static uint64_t string_limit(const tn_tstring_target_t *target) {
  if (target->form == TN_TSTRING_AS_OFFSET) return TN__OFFSET_STRING_MAXIMUM;
  if (target->form == TN_TSTRING_AS_BLOCK) return TN_STRING__LARGE_MAXIMUM;
  if (target->layout == TN_TSTRING_TF) return TN_STRING__WORD_MAXIMUM;
  return TN__WORD32_SIZE_MAXIMUM;
}

static int32_t measure_structs(const tn_tstring_target_t *target, uint64_t count, const tn__span_t *spans,
                               uint64_t first, size_t n, uint64_t *data, tn_tstring_fault_t *fault) {
  const uint64_t stride = tn__struct_size(target->layout), limit = string_limit(target);
  const uint64_t small = target->is_inline ? tn__small_capacity(target->layout) : 0;
  for (size_t i = 0; i < n; i++) {
    const uint64_t size = spans[i].size;
    if (size > limit) return FAULT(STRING_LIMIT, first + i, size, limit);
    if (target->is_inline && size <= small) continue;
    if (target->form == TN_TSTRING_AS_OFFSET) {
      const uint64_t distance = stride * (count - first - i) + *data;
      if (distance > TN__UINT32_MAXIMUM) return FAULT(DISTANCE_LIMIT, first + i, distance, TN__UINT32_MAXIMUM);
    }
    if (target->form == TN_TSTRING_AS_OFFSET || target->form == TN_TSTRING_AS_POINTER) *data += size;
  }
  return TN_OK;
}

int32_t tn_tstring_measure(const tn_tstring_tensor_t *tensor, const uint32_t *selection, uint64_t count,
                           tn_tstring_target_t *target, tn_tstring_fault_t *fault) {
  TN_TRY(check_target(target));
  TN_TRY(tn__tstring_check_table(tensor, fault));
  const uint64_t table = table_size(target, count);
  const bool is_32_bit = target->layout == TN_TSTRING_TFLITE || target->layout == TN_TSTRING_ARROW32;
  const uint64_t limit = is_32_bit ? TN__INT32_MAXIMUM : INT64_MAX;
  // Offsets of Arrow are relative to the data, those of TFLite to the start of its header.
  const uint64_t before = target->layout == TN_TSTRING_TFLITE ? table : 0;
  if (before > limit) return FAULT(TOTAL_LIMIT, count, before, limit);
  uint64_t data = 0;
  tn__span_t spans[TN__BLOCK];
  for (uint64_t first = 0; first < count; first += TN__BLOCK) {
    const size_t n = tn__block_of(count, first);
    TN_TRY(tn__tstring_spans(tensor, selection == NULL ? NULL : selection + first, first, n, spans, fault));
    if (tn__is_struct_layout(target->layout)) {
      TN_TRY(measure_structs(target, count, spans, first, n, &data, fault));
      continue;
    }
    for (size_t i = 0; i < n; i++) {
      data += spans[i].size + (target->layout == TN_TSTRING_LEGACY ? tn__varint_size(spans[i].size) : 0);
      if (data > limit - before) return FAULT(TOTAL_LIMIT, first + i, data + before, limit);
    }
  }
  target->table_size = table;
  target->data_size = data;
  return TN_OK;
}

TN__HOT void copy16(uint8_t *to, const uint8_t *from) {
  uint64_t words[2];
  memcpy(words, from, sizeof words);
  memcpy(to, words, sizeof words);
}

TN__HOT void copy32(uint8_t *to, const uint8_t *from) {
  uint64_t words[4];
  memcpy(words, from, sizeof words);
  memcpy(to, words, sizeof words);
}

/* Copies exactly `size` bytes. Most copies are too short for a call of memcpy(). */
TN__HOT void copy(uint8_t *to, const uint8_t *from, size_t size) {
  if (size > 64) {
    memcpy(to, from, size);
  } else if (size > 32) {
    copy32(to, from);
    copy32(to + size - 32, from + size - 32);
  } else if (size >= 16) {
    copy16(to, from);
    copy16(to + size - 16, from + size - 16);
  } else {
    for (size_t i = 0; i < size; i++) to[i] = from[i];
  }
}

/* Appends a string to the data. Returns null if the source has grown since it was measured. */
TN__HOT uint8_t *put(writer_t *writer, const tn__span_t *span) {
  const tn_tstring_target_t *target = &writer->target;
  const uint64_t room = target->data_size - writer->data_at, size = span->size;
  if (size > room) return NULL;
  uint8_t *at = target->data + writer->data_at;
  // Most strings are short. With room on both sides one wide copy serves all, and the next overwrites the excess.
  if (size <= 32 && room >= 32 && span->room >= 32)
    copy32(at, span->data);
  else
    copy(at, span->data, (size_t)size);
  writer->data_at += size;
  return at;
}

/* Writes a SMALL, and zeros after the string. */
TN__HOT void write_small(uint8_t *at, const tn__span_t *span, size_t stride) {
  const size_t size = (size_t)span->size;
#if !TN_STRING__BIG_ENDIAN
  if (span->room >= 24) {
    // Masks: from 24 - size on there are `size` bytes of ones, then zeros.
    static const uint8_t ones[48] = {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
                                     255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};
    // Each word is loaded separately, because a load of words that were just stored would stall.
    const uint64_t first = tn__load64(span->data, false) & tn__load64(ones + 24 - size, false);
    const uint64_t second = tn__load64(span->data + 8, false) & tn__load64(ones + 32 - size, false);
    tn__store64(at, first << 8 | size << 2, false);
    tn__store64(at + 8, second << 8 | first >> 56, false);
    if (stride == 24) {
      const uint64_t third = tn__load64(span->data + 16, false) & tn__load64(ones + 40 - size, false);
      tn__store64(at + 16, third << 8 | second >> 56, false);
    }
    return;
  }
#endif
  memset(at, 0, stride);
  at[0] = (uint8_t)(size << 2);
  copy(at + 1, span->data, size);
}

/* Writes a pointer: a VIEW as TensorFlow ships it, with all 24 bytes, or a PREALLOC of the RFC. */
TN__HOT void write_pointer(uint8_t *at, int32_t layout, size_t stride, const uint8_t *bytes, size_t size) {
  if (layout == TN_TSTRING_TF) {
    if (sizeof(size_t) < 8) tn__store64(at + 8, 0, false);
    tn__store_word(at, tn_string__word_of_size(size, TN_TSTRING_VIEW));
    tn__store_word(at + sizeof(size_t), (size_t)bytes);
  } else {
    tn__store32(at, tn__word32_of_size((uint32_t)size, TN_TSTRING_PREALLOC), TN_STRING__BIG_ENDIAN);
    tn__store32(at + 4, (uint32_t)size, TN_STRING__BIG_ENDIAN);
    tn__store64(at + 8, 0, false);
    tn__store_word(at + 8, (size_t)bytes);
  }
  if (stride == 24) tn__store64(at + 16, 0, false);
}

TN__HOT void write_offset(uint8_t *at, size_t stride, const uint8_t *bytes, size_t size, uint64_t count) {
  tn__store32(at, (uint32_t)size << 2 | TN_TSTRING_OFFSET, false);
  tn__store32(at + 4, (uint32_t)(bytes - at), false);
  tn__store64(at + 8, (uint32_t)count, false);
  if (stride == 24) tn__store64(at + 16, 0, false);
}

TN__HOT int32_t write_struct(writer_t *writer, const tn__span_t *span, int32_t layout, size_t stride, size_t small) {
  const tn_tstring_target_t *target = &writer->target;
  uint8_t *at = target->table + writer->index * stride;
  const size_t size = (size_t)span->size;
  if (target->form == TN_TSTRING_AS_BLOCK) {
    memset(at, 0, stride);
    return layout == TN_TSTRING_TF ? tn_tstring_copy(at, (const char *)span->data, size)
                                   : tn_tstring_rfc_assign(at, layout, (const char *)span->data, size);
  }
  if (target->is_inline && size <= small) {
    write_small(at, span, stride);
    return TN_OK;
  }
  if (target->form == TN_TSTRING_AS_BORROWED) {
    write_pointer(at, layout, stride, size == 0 ? NULL : span->data, size);
    return TN_OK;
  }
  const uint8_t *bytes = put(writer, span);
  if (bytes == NULL) return GREW;
  if (target->form == TN_TSTRING_AS_POINTER)
    write_pointer(at, layout, stride, bytes, size);
  else
    write_offset(at, stride, bytes, size, target->table_size / stride);
  return TN_OK;
}

TN__HOT int32_t write_legacy(writer_t *writer, const tn__span_t *span, bool big_endian) {
  const tn_tstring_target_t *target = &writer->target;
  tn__store64(target->table + 8 * writer->index, writer->data_at, big_endian);
  if (tn__varint_size(span->size) > target->data_size - writer->data_at) return GREW;
  uint64_t rest = span->size;
  for (; rest >= 0x80; rest >>= 7) target->data[writer->data_at++] = (uint8_t)(rest | 0x80);
  target->data[writer->data_at++] = (uint8_t)rest;
  return put(writer, span) == NULL ? GREW : TN_OK;
}

/* TFLite and Arrow: the end of each string is the start of the next one. write_first() writes the first start. */
TN__HOT int32_t write_end32(writer_t *writer, const tn__span_t *span, uint8_t *ends, uint64_t before, bool big_endian) {
  if (put(writer, span) == NULL) return GREW;
  tn__store32(ends + 4 * writer->index, (uint32_t)(before + writer->data_at), big_endian);
  return TN_OK;
}

TN__HOT int32_t write_end64(writer_t *writer, const tn__span_t *span) {
  if (put(writer, span) == NULL) return GREW;
  tn__store64(writer->target.table + 8 * (writer->index + 1), writer->data_at, TN_STRING__BIG_ENDIAN);
  return TN_OK;
}

static void write_first(const tn_tstring_target_t *target, uint64_t count) {
  const bool big_endian = tn__is_big_endian(target->abi);
  if (target->layout == TN_TSTRING_TFLITE) {
    tn__store32(target->table, (uint32_t)count, big_endian);
    tn__store32(target->table + 4, (uint32_t)target->table_size, big_endian);
  } else if (target->layout == TN_TSTRING_ARROW32) {
    tn__store32(target->table, 0, big_endian);
  } else if (target->layout == TN_TSTRING_ARROW64) {
    tn__store64(target->table, 0, big_endian);
  }
}

#define WRITE_ALL(write)                           \
  for (size_t i = 0; i < n; i++, w.index++) {      \
    const int32_t status = (write);                \
    if (status != TN_OK) {                         \
      *writer = w;                                 \
      return status;                               \
    }                                              \
  }                                                \
  *writer = w;                                     \
  return TN_OK

static int32_t write_block(writer_t *writer, const tn__span_t *spans, size_t n) {
  writer_t w = *writer;
  const bool big_endian = tn__is_big_endian(w.target.abi);
  switch (w.target.layout) {
    case TN_TSTRING_TF:
      WRITE_ALL(write_struct(&w, &spans[i], TN_TSTRING_TF, 24, TN_STRING_SMALL_CAPACITY));
    case TN_TSTRING_RFC16:
      WRITE_ALL(write_struct(&w, &spans[i], TN_TSTRING_RFC16, 16, 15));
    case TN_TSTRING_RFC24:
      WRITE_ALL(write_struct(&w, &spans[i], TN_TSTRING_RFC24, 24, 23));
    case TN_TSTRING_LEGACY:
      WRITE_ALL(write_legacy(&w, &spans[i], big_endian));
    case TN_TSTRING_TFLITE:
      WRITE_ALL(write_end32(&w, &spans[i], w.target.table + 8, w.target.table_size, big_endian));
    case TN_TSTRING_ARROW32:
      WRITE_ALL(write_end32(&w, &spans[i], w.target.table + 4, 0, TN_STRING__BIG_ENDIAN));
    default:
      WRITE_ALL(write_end64(&w, &spans[i]));
  }
}

int32_t tn_tstring_convert(const tn_tstring_tensor_t *tensor, const uint32_t *selection, uint64_t count,
                           tn_tstring_target_t *target, tn_tstring_fault_t *fault) {
  TN_TRY(check_target(target));
  TN_TRY(tn__tstring_check_table(tensor, fault));
  TN_REQUIRE(target->table_size == table_size(target, count), "table_size must be the measured one");
  int32_t status = TN_OK;
  writer_t writer = {*target, 0, 0};
  tn__span_t spans[TN__BLOCK];
  write_first(target, count);
  while (writer.index < count && status == TN_OK) {
    const uint64_t first = writer.index;
    const size_t n = tn__block_of(count, first);
    status = tn__tstring_spans(tensor, selection == NULL ? NULL : selection + first, first, n, spans, fault);
    if (status == TN_OK) status = write_block(&writer, spans, n);
    if (status == GREW) status = FAULT(CHANGED, writer.index, writer.data_at, target->data_size);
  }
  if (status != TN_OK && target->form == TN_TSTRING_AS_BLOCK && tn__is_struct_layout(target->layout))
    tn_tstring_dealloc_all(target->table, writer.index, target->layout);
  if (status == TN_OK) target->data_size = writer.data_at;
  return status;
}
