/* Functions and types that the files of operations share. */
#pragma once

#include <math.h>

#include "half.h"
#include "tenon_nnapi.h"

/* A step with its operands looked up. */
typedef struct {
  const tn_nn_step_t *step;
  const tn_nn_tensor_t *tensors;
  const uint32_t *operands;
} tn_nn__call_t;

static inline const tn_nn_tensor_t *tn_nn__input(const tn_nn__call_t *call, uint32_t index) {
  return &call->tensors[call->operands[index]];
}

static inline const tn_nn_tensor_t *tn_nn__output(const tn_nn__call_t *call) {
  return &call->tensors[call->operands[call->step->input_count]];
}

static inline const tn_nn_tensor_t *tn_nn__second_output(const tn_nn__call_t *call) {
  return &call->tensors[call->operands[call->step->input_count + 1]];
}

typedef struct {
  float low;
  float high;
} tn_nn__bounds_t;

static inline tn_nn__bounds_t tn_nn__bounds(int32_t activation) {
  static const tn_nn__bounds_t bounds[] = {
      [TN_NN_NONE] = {-INFINITY, INFINITY}, [TN_NN_BOUND_RELU] = {0, INFINITY},
      [TN_NN_BOUND_RELU1] = {-1, 1},        [TN_NN_BOUND_RELU6] = {0, 6},
  };
  return bounds[activation];
}

/* NaN stays NaN. */
static inline double tn_nn__bound(double value, tn_nn__bounds_t bounds) {
  return value < (double)bounds.low ? (double)bounds.low : value > (double)bounds.high ? (double)bounds.high : value;
}

static inline int tn_nn__is_float(uint32_t type) { return type == TN_NN_FLOAT32 || type == TN_NN_FLOAT16; }

/* The product of dimensions from axis `from` up to, not including, `to`. */
static inline uint64_t tn_nn__extent(const tn_nn_tensor_t *tensor, uint32_t from, uint32_t to) {
  uint64_t product = 1;
  for (uint32_t axis = from; axis < to; axis++) product *= tensor->dimensions[axis];
  return product;
}

static inline double tn_nn__scale(const tn_nn_tensor_t *tensor, uint64_t i) {
  if (tensor->scales == NULL) return (double)tensor->scale;
  uint32_t axis = tensor->channel_axis;
  return (double)tensor->scales[i / tn_nn__extent(tensor, axis + 1, tensor->rank) % tensor->dimensions[axis]];
}

/* The value of element `i` of any type: exact, except for the product with a scale. */
static inline double tn_nn__load(const tn_nn_tensor_t *tensor, uint64_t i) {
  switch (tensor->type) {
    case TN_NN_FLOAT32:
      return (double)((const float *)tensor->data)[i];
    case TN_NN_FLOAT16:
      return tn_nn__from_half(((const uint16_t *)tensor->data)[i]);
    case TN_NN_INT32:
      return (double)((const int32_t *)tensor->data)[i];
    case TN_NN_QUANT8:
      return (double)tensor->scale * (double)(((const uint8_t *)tensor->data)[i] - tensor->zero_point);
    default:
      /* As a fifth case, this would make the switch a table of jumps, which is slow in loops over elements. */
      if (tensor->type == TN_NN_BOOL8) return ((const uint8_t *)tensor->data)[i] != 0;
      return tn_nn__scale(tensor, i) * (double)(((const int8_t *)tensor->data)[i] - tensor->zero_point);
  }
}

/* The nearest quantized value in the range of a tensor's type. NaN becomes the smallest value. */
static inline int32_t tn_nn__quantize(const tn_nn_tensor_t *tensor, double value) {
  double low = tensor->type == TN_NN_QUANT8 ? 0 : -128;
  double scaled = round(value / (double)tensor->scale) + (double)tensor->zero_point;
  if (!(scaled > low)) return (int32_t)low;
  return (int32_t)(scaled > low + 255 ? low + 255 : scaled);
}

/* The nearest integer towards zero in the range of the type; 0 for NaN. */
static inline int32_t tn_nn__whole(double value) {
  if (!(value > (double)INT32_MIN)) return value != value ? 0 : INT32_MIN;
  return value >= (double)INT32_MAX ? INT32_MAX : (int32_t)value;
}

static inline void tn_nn__store(const tn_nn_tensor_t *tensor, uint64_t i, double value) {
  if (tensor->type == TN_NN_FLOAT32) {
    ((float *)tensor->data)[i] = (float)value;
  } else if (tensor->type == TN_NN_FLOAT16) {
    ((uint16_t *)tensor->data)[i] = tn_nn__to_half(value);
  } else {
    ((uint8_t *)tensor->data)[i] = (uint8_t)tn_nn__quantize(tensor, value);
  }
}

/* Stores an element of any type. tn_nn__store() is faster, and knows floats and quantized types only. */
static inline void tn_nn__store_any(const tn_nn_tensor_t *tensor, uint64_t i, double value) {
  if (tensor->type == TN_NN_INT32) {
    ((int32_t *)tensor->data)[i] = tn_nn__whole(value);
  } else if (tensor->type == TN_NN_BOOL8) {
    ((uint8_t *)tensor->data)[i] = value != 0;
  } else {
    tn_nn__store(tensor, i, value);
  }
}

static inline size_t tn_nn__element_size(const tn_nn_tensor_t *tensor) {
  if (tensor->type == TN_NN_FLOAT16) return 2;
  return tensor->type == TN_NN_FLOAT32 || tensor->type == TN_NN_INT32 ? 4 : 1;
}

/* Runs a step, or returns whether its operands are valid. `input` is the first input of the call. */
typedef int32_t tn_nn__run_t(const tn_nn__call_t *call, const tn_nn_tensor_t *input, const tn_nn_tensor_t *output);

typedef struct {
  tn_nn__run_t *run, *check;
  uint32_t inputs; /* the number of inputs, or 0 for any number */
  uint32_t more_outputs; /* the number of outputs after the first */
} tn_nn__operation_t;

/* blocks.c: runs an operation on one block of elements after the other. If all operands have as many elements, element i of
 * its result must depend on element i of each input alone. */
int32_t tn_nn__run_blocks(const tn_nn__call_t *call, tn_nn__run_t *run);

/* check.c: looks up an operation. Null if it is unknown. */
const tn_nn__operation_t *tn_nn__find(uint32_t operation);

/* elementwise.c, layout.c, copies.c, reduce.c, convolution.c, pooling.c, resize.c and top_k.c */
tn_nn__run_t tn_nn__binary, tn_nn__unary, tn_nn__softmax, tn_nn__select;
tn_nn__run_t tn_nn__copy, tn_nn__transpose, tn_nn__concatenation, tn_nn__gather, tn_nn__argmax, tn_nn__convert;
tn_nn__run_t tn_nn__shift, tn_nn__tile, tn_nn__cast;
tn_nn__run_t tn_nn__reduce, tn_nn__top_k;
tn_nn__run_t tn_nn__convolution, tn_nn__depthwise, tn_nn__transposed_convolution, tn_nn__fully_connected;
tn_nn__run_t tn_nn__average_pool, tn_nn__max_pool, tn_nn__resize_bilinear, tn_nn__resize_nearest;
