/* Creates programs of one step from untrusted bytes, and runs accepted programs with memory of exactly the size of
 * their tensors. For the fuzz program and the tests of nnapi/. */
#ifndef TENON_FUZZ_NNAPI_PROGRAM_H
#define TENON_FUZZ_NNAPI_PROGRAM_H

#include <stdlib.h>
#include <string.h>

#include "tenon_nnapi.h"

enum { NNAPI_TENSORS = 5, NNAPI_MOST_ELEMENTS = 4096, NNAPI_MOST_CHANNELS = 8 };

typedef struct {
  const uint8_t *data;
  size_t size;
} nnapi_bytes_t;

/* The next byte, or 0 after the end. */
static inline uint32_t nnapi_next(nnapi_bytes_t *bytes) {
  if (bytes->size == 0) return 0;
  bytes->size--;
  return *bytes->data++;
}

/* Mostly small numbers, and sometimes any number. */
static inline int32_t nnapi_number(nnapi_bytes_t *bytes) {
  uint32_t first = nnapi_next(bytes);
  if (first < 250) return (int32_t)(first % 10) - 2;
  uint32_t value = first;
  for (int i = 0; i < 4; i++) value = value << 8 | nnapi_next(bytes);
  return (int32_t)value;
}

static inline tn_nn_tensor_t nnapi_tensor(nnapi_bytes_t *bytes, const float *scales) {
  static const uint32_t types[] = {3, 4, 5, 8, 11, 13, 14, 9};
  uint32_t shape = nnapi_next(bytes), kind = nnapi_next(bytes);
  tn_nn_tensor_t tensor = {.type = kind < 250 ? types[kind % 8] : 77, .rank = shape % 8, .count = 1, .scale = (float)(kind >> 3 & 7) / 4};
  for (uint32_t axis = 0; axis < TN_NN_RANK; axis++) {
    uint32_t size = nnapi_next(bytes);
    tensor.dimensions[axis] = size > 252 ? (uint32_t)nnapi_number(bytes) : size % 6;
    if (axis < tensor.rank) tensor.count *= tensor.dimensions[axis];
  }
  if (kind >= 240) tensor.count++;
  tensor.zero_point = tensor.type == 5 ? (int32_t)(shape >> 3) * 8 : 0;
  if (tensor.type == 11 || kind == 239) tensor.scales = scales;
  tensor.channel_axis = shape >> 3;
  return tensor;
}

/* Returns whether a tensor, and the scales of its channels, fit into the memory of the test. */
static inline int nnapi_fits(const tn_nn_tensor_t *tensor) {
  if (tensor->count > NNAPI_MOST_ELEMENTS) return 0;
  return tensor->scales == NULL || tensor->channel_axis >= TN_NN_RANK ||
         tensor->dimensions[tensor->channel_axis] <= NNAPI_MOST_CHANNELS;
}

static inline size_t nnapi_element_size(uint32_t type) { return type == 8 ? 2 : type == 3 || type == 4 ? 4 : 1; }

/* Returns the outcome of the run, or TN_NN_BAD_PROGRAM or TN_NN_UNKNOWN_OPERATION if the program was refused. */
static inline int32_t nnapi_run_bytes(const uint8_t *data, size_t size) {
  static const uint8_t operations[] = {0,  1,  2,  3,  4,  6,  9,  14, 17, 18, 19, 20, 21, 22, 25, 28, 30, 36, 37, 39,
                                       51, 72, 5,  99, 23, 31, 32, 38, 45, 48, 49, 53, 54, 58, 59, 61, 62, 63, 65, 66,
                                       67, 68, 71, 75, 76, 77, 78, 79, 80, 83, 84, 86, 88, 89, 90, 91, 94};
  static const float scales[NNAPI_MOST_CHANNELS] = {1, 0.5f, 0.25f, 2, 1, 3, 1, 1};
  nnapi_bytes_t bytes = {data, size};
  tn_nn_step_t step = {.operation = operations[nnapi_next(&bytes) % sizeof operations], .input_count = nnapi_next(&bytes) % 5};
  step.activation = nnapi_number(&bytes);
  for (int i = 0; i < 10; i++) step.numbers[i] = nnapi_number(&bytes);
  step.reals[0] = (float)nnapi_number(&bytes);
  tn_nn_tensor_t tensors[NNAPI_TENSORS];
  uint32_t operands[NNAPI_TENSORS];
  for (uint32_t i = 0; i < NNAPI_TENSORS; i++) {
    tensors[i] = nnapi_tensor(&bytes, scales);
    /* Random shapes rarely match, so a byte may select the shape of the previous tensor. */
    if (i > 0 && nnapi_next(&bytes) % 3 == 0) tensors[i] = tensors[i - 1];
    operands[i] = nnapi_next(&bytes) < 250 ? i : i + 1;
    if (!nnapi_fits(&tensors[i])) return TN_NN_BAD_PROGRAM;
  }
  const tn_nn_program_t program = {sizeof program, 1, NNAPI_TENSORS, NNAPI_TENSORS, tensors, &step, operands};
  uint32_t failed;
  int32_t outcome = tn_nn_check(&program, &failed);
  if (outcome != TN_NN_OK) return outcome;
  for (uint32_t i = 0; i < NNAPI_TENSORS; i++) {
    size_t byte_size = (size_t)tensors[i].count * nnapi_element_size(tensors[i].type);
    uint8_t *memory = malloc(byte_size > 0 ? byte_size : 1);
    if (memory == NULL) abort();
    for (size_t k = 0; k < byte_size; k++) memory[k] = k < bytes.size ? bytes.data[k] : (uint8_t)(k % 3 == 0);
    tensors[i].data = memory;
  }
  outcome = tn_nn_run(&program, 0, 1, &failed);
  for (uint32_t i = 0; i < NNAPI_TENSORS; i++) free(tensors[i].data);
  return outcome;
}

#endif
