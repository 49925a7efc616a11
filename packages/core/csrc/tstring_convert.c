/* Conversion: measure a target, then write it. Sources are read and targets written in blocks of spans, so that every
 * layout is converted to every other with one reader and one writer each. */
#include <stdlib.h>

#include "tstring_internal.h"

#define FAULT(check, index, value, limit) tn__tstring_fault(fault, TN_TSTRING_CHECK_##check, index, value, limit)

typedef struct {
  const tn_tstring_target_t *target;
  uint64_t index;   /* of the next element */
  uint64_t data_at; /* bytes written to target->data */
  tn_tstring_fault_t *fault;
} writer_t;

static int32_t check_target(const tn_tstring_target_t *target) {
  if (target->layout < TN_TSTRING_TF || target->layout > TN_TSTRING_ARROW64)
    return tn__fail(TN_INVALID_ARGUMENT, "there is no layout %d", target->layout);
  if (target->abi < TN_TSTRING_LE64 || target->abi > TN_TSTRING_BE32)
    return tn__fail(TN_INVALID_ARGUMENT, "there is no ABI %d", target->abi);
  if (!tn__is_struct_layout(target->layout)) return TN_OK;
  if (target->form < TN_TSTRING_AS_OFFSET || target->form > TN_TSTRING_AS_BORROWED)
    return tn__fail(TN_INVALID_ARGUMENT, "there is no form %d", target->form);
  if (target->form != TN_TSTRING_AS_OFFSET && target->abi != TN__HOST_ABI)
    return tn__fail(TN_INVALID_ARGUMENT, "pointers can be written only for the ABI of this machine");
  return TN_OK;
}

static uint64_t table_size(const tn_tstring_target_t *target, uint64_t count) {
  switch (target->layout) {
    case TN_TSTRING_LEGACY:
      return 8 * count;
    case TN_TSTRING_TFLITE:
      return 4 * (count + 2);
    case TN_TSTRING_ARROW32:
      return 4 * (count + 1);
    case TN_TSTRING_ARROW64:
      return 8 * (count + 1);
    default:
      return tn__struct_size(target->layout) * count;
  }
}

static size_t block_of(uint64_t count, uint64_t done) {
  return count - done < TN__BLOCK ? (size_t)(count - done) : TN__BLOCK;
}

/* The most bytes that one string of a struct layout may have. */
static uint64_t string_limit(const tn_tstring_target_t *target) {
  if (target->form == TN_TSTRING_AS_OFFSET) return TN__OFFSET_STRING_MAXIMUM;
  if (target->form == TN_TSTRING_AS_BLOCK || target->layout == TN_TSTRING_TF) return TN__WORD_SIZE_MAXIMUM;
  return TN__WORD32_SIZE_MAXIMUM;
}

static int32_t measure_structs(const tn_tstring_target_t *target, uint64_t count, const tn__span_t *spans, uint64_t first,
                               size_t n, uint64_t *data, tn_tstring_fault_t *fault) {
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
  int32_t status = check_target(target);
  if (status == TN_OK) status = tn__tstring_check_table(tensor, fault);
  if (status != TN_OK) return status;
  const uint64_t table = table_size(target, count);
  const bool is_32_bit = target->layout == TN_TSTRING_TFLITE || target->layout == TN_TSTRING_ARROW32;
  const uint64_t limit = is_32_bit ? TN__INT32_MAXIMUM : INT64_MAX;
  // Arrow's offsets count from the data, TFLite's from the start of its header.
  const uint64_t before = target->layout == TN_TSTRING_TFLITE ? table : 0;
  if (before > limit) return FAULT(TOTAL_LIMIT, count, before, limit);
  uint64_t data = 0;
  tn__span_t spans[TN__BLOCK];
  for (uint64_t first = 0; first < count; first += TN__BLOCK) {
    const size_t n = block_of(count, first);
    status = tn__tstring_spans(tensor, selection == NULL ? NULL : selection + first, first, n, spans, fault);
    if (status == TN_OK && tn__is_struct_layout(target->layout)) {
      status = measure_structs(target, count, spans, first, n, &data, fault);
    } else if (status == TN_OK) {
      for (size_t i = 0; i < n; i++) {
        data += spans[i].size + (target->layout == TN_TSTRING_LEGACY ? tn__varint_size(spans[i].size) : 0);
        if (data > limit - before) return FAULT(TOTAL_LIMIT, first + i, data + before, limit);
      }
    }
    if (status != TN_OK) return status;
  }
  target->table_size = table;
  target->data_size = data;
  return TN_OK;
}

/* Small copies are the common case, and too short for a call. */
static inline void copy(uint8_t *to, const uint8_t *from, size_t size) {
  if (size >= 16) {
    if (size <= 32) {
      uint64_t a[2], b[2];
      memcpy(a, from, 16);
      memcpy(b, from + size - 16, 16);
      memcpy(to, a, 16);
      memcpy(to + size - 16, b, 16);
    } else {
      memcpy(to, from, size);
    }
  } else if (size >= 8) {
    uint64_t a, b;
    memcpy(&a, from, 8);
    memcpy(&b, from + size - 8, 8);
    memcpy(to, &a, 8);
    memcpy(to + size - 8, &b, 8);
  } else if (size >= 4) {
    uint32_t a, b;
    memcpy(&a, from, 4);
    memcpy(&b, from + size - 4, 4);
    memcpy(to, &a, 4);
    memcpy(to + size - 4, &b, 4);
  } else {
    for (size_t i = 0; i < size; i++) to[i] = from[i];
  }
}

/* Copies one string behind what is written already; null if the source grew after it was measured. */
static inline uint8_t *put(writer_t *writer, const tn__span_t *span) {
  const tn_tstring_target_t *target = writer->target;
  if (span->size > target->data_size - writer->data_at) return NULL;
  uint8_t *at = target->data + writer->data_at;
  if (span->size != 0) copy(at, span->data, (size_t)span->size);
  writer->data_at += span->size;
  return at;
}

static int32_t changed(writer_t *writer) {
  tn_tstring_fault_t *fault = writer->fault;
  return FAULT(CHANGED, writer->index, writer->data_at, writer->target->data_size);
}

/* A pointer into or out of the target: VIEW as shipped, with all 24 bytes written; PREALLOC in the RFC. */
static inline void write_pointer(uint8_t *at, int32_t layout, const uint8_t *bytes, size_t size) {
  if (layout == TN_TSTRING_TF) {
    memset(at, 0, TN__TSTRING_SIZE);
    tn__store_word(at, tn__word_of_size(size, TN_TSTRING_VIEW));
    tn__store_word(at + sizeof(size_t), (size_t)bytes);
  } else {
    memset(at, 0, tn__struct_size(layout));
    tn__store32(at, tn__word32_of_size((uint32_t)size, TN_TSTRING_PREALLOC), TN__BIG_ENDIAN);
    tn__store32(at + 4, (uint32_t)size, TN__BIG_ENDIAN);
    tn__store_word(at + 8, (size_t)bytes);
  }
}

static inline int32_t write_struct(writer_t *writer, const tn__span_t *span, int32_t layout, size_t stride, size_t small) {
  const tn_tstring_target_t *target = writer->target;
  uint8_t *at = target->table + writer->index * stride;
  const size_t size = (size_t)span->size;
  if (target->form == TN_TSTRING_AS_BLOCK) {
    memset(at, 0, stride);
    return layout == TN_TSTRING_TF ? tn_tstring_copy(at, (const char *)span->data, size)
                                   : tn_tstring_rfc_assign(at, layout, (const char *)span->data, size);
  }
  if (target->is_inline && size <= small) {
    memset(at, 0, stride);
    at[0] = (uint8_t)(size << 2);
    if (size != 0) copy(at + 1, span->data, size);
    return TN_OK;
  }
  if (target->form == TN_TSTRING_AS_BORROWED) {
    write_pointer(at, layout, size == 0 ? NULL : span->data, size);
    return TN_OK;
  }
  const uint8_t *bytes = put(writer, span);
  if (bytes == NULL) return changed(writer);
  if (target->form == TN_TSTRING_AS_POINTER) {
    write_pointer(at, layout, bytes, size);
    return TN_OK;
  }
  memset(at, 0, stride);
  tn__store32(at, (uint32_t)size << 2 | TN_TSTRING_OFFSET, false);
  tn__store32(at + 4, (uint32_t)(bytes - at), false);
  tn__store32(at + 8, (uint32_t)(target->table_size / stride), false);
  return TN_OK;
}

static inline int32_t write_legacy(writer_t *writer, const tn__span_t *span, bool big_endian) {
  const tn_tstring_target_t *target = writer->target;
  tn__store64(target->table + 8 * writer->index, writer->data_at, big_endian);
  if (tn__varint_size(span->size) > target->data_size - writer->data_at) return changed(writer);
  uint64_t rest = span->size;
  for (; rest >= 0x80; rest >>= 7) target->data[writer->data_at++] = (uint8_t)(rest | 0x80);
  target->data[writer->data_at++] = (uint8_t)rest;
  return put(writer, span) == NULL ? changed(writer) : TN_OK;
}

/* TFLite and Arrow: the end of each string is the start of the next. The first start is written before all. */
static inline int32_t write_end32(writer_t *writer, const tn__span_t *span, uint8_t *ends, uint64_t before, bool big_endian) {
  if (put(writer, span) == NULL) return changed(writer);
  tn__store32(ends + 4 * writer->index, (uint32_t)(before + writer->data_at), big_endian);
  return TN_OK;
}

static inline int32_t write_end64(writer_t *writer, const tn__span_t *span) {
  if (put(writer, span) == NULL) return changed(writer);
  tn__store64(writer->target->table + 8 * (writer->index + 1), writer->data_at, TN__BIG_ENDIAN);
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

#define WRITE_ALL(write)                                   \
  for (size_t i = 0; i < n; i++, writer->index++) {        \
    const int32_t status = (write);                        \
    if (status != TN_OK) return status;                    \
  }                                                        \
  return TN_OK

static int32_t write_block(writer_t *writer, const tn__span_t *spans, size_t n) {
  const tn_tstring_target_t *target = writer->target;
  const bool big_endian = tn__is_big_endian(target->abi);
  switch (target->layout) {
    case TN_TSTRING_TF:
      WRITE_ALL(write_struct(writer, &spans[i], TN_TSTRING_TF, 24, TN__TF_SMALL));
    case TN_TSTRING_RFC16:
      WRITE_ALL(write_struct(writer, &spans[i], TN_TSTRING_RFC16, 16, 15));
    case TN_TSTRING_RFC24:
      WRITE_ALL(write_struct(writer, &spans[i], TN_TSTRING_RFC24, 24, 23));
    case TN_TSTRING_LEGACY:
      WRITE_ALL(write_legacy(writer, &spans[i], big_endian));
    case TN_TSTRING_TFLITE:
      WRITE_ALL(write_end32(writer, &spans[i], target->table + 8, target->table_size, big_endian));
    case TN_TSTRING_ARROW32:
      WRITE_ALL(write_end32(writer, &spans[i], target->table + 4, 0, TN__BIG_ENDIAN));
    default:
      WRITE_ALL(write_end64(writer, &spans[i]));
  }
}

int32_t tn_tstring_convert(const tn_tstring_tensor_t *tensor, const uint32_t *selection, uint64_t count,
                           const tn_tstring_target_t *target, tn_tstring_fault_t *fault) {
  int32_t status = check_target(target);
  if (status == TN_OK) status = tn__tstring_check_table(tensor, fault);
  if (status != TN_OK) return status;
  if (target->table_size != table_size(target, count))
    return tn__fail(TN_INVALID_ARGUMENT, "the table must have the size that was measured");
  writer_t writer = {target, 0, 0, fault};
  tn__span_t spans[TN__BLOCK];
  write_first(target, count);
  while (writer.index < count && status == TN_OK) {
    const uint64_t first = writer.index;
    const size_t n = block_of(count, first);
    status = tn__tstring_spans(tensor, selection == NULL ? NULL : selection + first, first, n, spans, fault);
    if (status == TN_OK) status = write_block(&writer, spans, n);
  }
  if (status != TN_OK && target->form == TN_TSTRING_AS_BLOCK && tn__is_struct_layout(target->layout))
    tn_tstring_dealloc_all(target->table, writer.index, target->layout);
  return status;
}
