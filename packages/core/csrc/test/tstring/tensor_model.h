/* String tensors for tests: their bytes as the specifications of the layouts say, written and read one byte at a time, without the code of
 * the core. All words are little-endian unless a function has the byte order as an argument. */
#ifndef TENON_TEST_TENSOR_MODEL_H
#define TENON_TEST_TENSOR_MODEL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tenon_tstring.h"

enum { MODEL_STRINGS = 130, MODEL_BYTES = 1 << 17 };

/* Strings, which lie one after another. */
typedef struct {
  uint64_t count;
  uint64_t sizes[MODEL_STRINGS];
  uint64_t starts[MODEL_STRINGS + 1];
  uint8_t bytes[MODEL_BYTES];
} model_t;

/* Numbers that are the same in each run. */
static inline uint32_t model_random(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

static inline void model_add(model_t *model, const void *bytes, uint64_t size) {
  const uint64_t start = model->starts[model->count];
  if (size != 0) memcpy(model->bytes + start, bytes, size);
  model->sizes[model->count++] = size;
  model->starts[model->count] = start + size;
}

/* A string of random bytes, none of which is zero. */
static inline void model_add_random(model_t *model, uint64_t size, uint32_t *state) {
  uint8_t *bytes = malloc(size + 1);
  for (uint64_t i = 0; i < size; i++) bytes[i] = (uint8_t)(model_random(state) % 255 + 1);
  model_add(model, bytes, size);
  free(bytes);
}

/* The offsets and the tensor of Arrow of a model. */
typedef struct {
  int64_t offsets[MODEL_STRINGS + 1];
  tn_tstring_tensor_t tensor;
} model_source_t;

static inline void model_source(model_source_t *source, const model_t *model) {
  for (uint64_t i = 0; i <= model->count; i++) source->offsets[i] = (int64_t)model->starts[i];
  source->tensor = (tn_tstring_tensor_t){
      .struct_size = sizeof source->tensor,
      .layout = TN_TSTRING_ARROW64,
      .count = model->count,
      .table_size = 8 * (model->count + 1),
      .data_size = model->starts[model->count],
      .table = (const uint8_t *)source->offsets,
      .data = model->bytes,
  };
}

static inline uint64_t model_word(const uint8_t *at, int size, bool big_endian) {
  uint64_t word = 0;
  for (int i = 0; i < size; i++) word |= (uint64_t)at[big_endian ? size - 1 - i : i] << (8 * i);
  return word;
}

static inline bool model_is_struct(int32_t layout) { return layout <= TN_TSTRING_RFC24; }

static inline uint64_t model_stride(int32_t layout) { return layout == TN_TSTRING_RFC16 ? 16 : 24; }

static inline uint64_t model_small(int32_t layout) { return layout == TN_TSTRING_TF ? 22 : model_stride(layout) - 1; }

static inline uint64_t model_varint_size(uint64_t value) {
  uint64_t size = 1;
  for (; value >= 128; value /= 128) size++;
  return size;
}

/* The bytes that a tensor needs, and those of them that belong to its data. */
static inline uint64_t model_table_size(int32_t layout, uint64_t count) {
  if (model_is_struct(layout)) return model_stride(layout) * count;
  if (layout == TN_TSTRING_LEGACY) return 8 * count;
  if (layout == TN_TSTRING_TFLITE) return 4 * count + 8;
  return (layout == TN_TSTRING_ARROW32 ? 4 : 8) * (count + 1);
}

static inline uint64_t model_data_size(const model_t *model, int32_t layout, bool is_inline) {
  uint64_t size = 0;
  for (uint64_t i = 0; i < model->count; i++) {
    if (model_is_struct(layout) && is_inline && model->sizes[i] <= model_small(layout)) continue;
    size += model->sizes[i] + (layout == TN_TSTRING_LEGACY ? model_varint_size(model->sizes[i]) : 0);
  }
  return size;
}

/* Whether a tensor, whose data follows its table, has exactly the bytes that its specification says. OFFSET strings are in order. */
static inline bool model_is_written(const model_t *model, int32_t layout, bool big_endian, bool is_inline, const uint8_t *table) {
  const uint64_t count = model->count;
  const uint8_t *const data = table + model_table_size(layout, count);
  uint64_t at = 0; /* in the data */
  if (layout == TN_TSTRING_TFLITE && model_word(table, 4, big_endian) != count) return false;
  for (uint64_t i = 0; i < count; i++) {
    const uint64_t size = model->sizes[i];
    const uint8_t *bytes = data + at;
    if (model_is_struct(layout)) {
      const uint64_t stride = model_stride(layout);
      const uint8_t *string = table + i * stride;
      if (is_inline && size <= model_small(layout)) {
        if (string[0] != size << 2) return false;
        for (uint64_t rest = size + 1; rest < stride; rest++)
          if (string[rest] != 0) return false;
        bytes = string + 1;
      } else {
        if (model_word(string, 4, false) != (size << 2 | TN_TSTRING_OFFSET)) return false;
        if (model_word(string + 4, 4, false) != (uint64_t)(bytes - string)) return false;
        if (model_word(string + 8, 8, false) != count) return false;
        if (stride == 24 && model_word(string + 16, 8, false) != 0) return false;
        at += size;
      }
    } else if (layout == TN_TSTRING_LEGACY) {
      if (model_word(table + 8 * i, 8, big_endian) != at) return false;
      uint64_t rest = size;
      for (; rest >= 128; rest /= 128)
        if (data[at++] != (rest % 128 | 128)) return false;
      if (data[at++] != rest) return false;
      bytes = data + at;
      at += size;
    } else {
      const int word = layout == TN_TSTRING_ARROW64 ? 8 : 4;
      const uint64_t header = layout == TN_TSTRING_TFLITE ? 4 : 0, before = layout == TN_TSTRING_TFLITE ? 4 * count + 8 : 0;
      const bool order = layout == TN_TSTRING_TFLITE && big_endian;
      if (model_word(table + header + (uint64_t)word * i, word, order) != before + at) return false;
      if (model_word(table + header + (uint64_t)word * (i + 1), word, order) != before + at + size) return false;
      at += size;
    }
    if (size != 0 && memcmp(bytes, model->bytes + model->starts[i], size) != 0) return false;
  }
  return true;
}

#endif
