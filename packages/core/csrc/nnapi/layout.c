/* Operations that move elements, and the search for the largest. */
#include <string.h>

#include "cancel.h"
#include "operations.h"

/* RESHAPE: copies the bytes of the first input. */
int32_t tn_nn__copy(const tn_nn__call_t *call, const tn_nn_tensor_t *input, const tn_nn_tensor_t *output) {
  (void)call;
  if (output->count > 0) memmove(output->data, input->data, output->count * tn_nn__element_size(output));
  return TN_NN_OK;
}

/* TRANSPOSE: axis i of the output is axis numbers[i] of the input. */
int32_t tn_nn__transpose(const tn_nn__call_t *call, const tn_nn_tensor_t *input, const tn_nn_tensor_t *output) {
  size_t size = tn_nn__element_size(output);
  uint64_t strides[TN_NN_RANK];
  uint32_t position[TN_NN_RANK] = {0};
  for (uint32_t i = 0; i < output->rank; i++)
    strides[i] = tn_nn__extent(input, (uint32_t)call->step->numbers[i] + 1, input->rank);
  const uint8_t *from = input->data;
  uint8_t *to = output->data;
  uint64_t at = 0;
  for (uint64_t i = 0; i < output->count;) {
    if (tn_nn__is_cancelled()) return TN_NN_CANCELLED;
    const uint64_t left = output->count - i, end = i + (left < TN_NN__BLOCK ? left : TN_NN__BLOCK);
    for (; i < end; i++) {
      memcpy(to + i * size, from + at * size, size);
      for (uint32_t axis = output->rank; axis-- > 0;) {
        at += strides[axis];
        if (++position[axis] < output->dimensions[axis]) break;
        at -= strides[axis] * output->dimensions[axis];
        position[axis] = 0;
      }
    }
  }
  return TN_NN_OK;
}

/* Returns whether equal bytes of two tensors of one type are equal values. */
static int same_meaning(const tn_nn_tensor_t *a, const tn_nn_tensor_t *b) {
  int is_quantized = a->type == TN_NN_QUANT8 || a->type == TN_NN_QUANT8_SIGNED;
  return !is_quantized || (a->scale == b->scale && a->zero_point == b->zero_point);
}

/* CONCATENATION: numbers[0] is the axis. Quantized inputs may have scales of their own. */
int32_t tn_nn__concatenation(const tn_nn__call_t *call, const tn_nn_tensor_t *input, const tn_nn_tensor_t *output) {
  uint32_t axis = (uint32_t)call->step->numbers[0];
  size_t size = tn_nn__element_size(output);
  uint64_t outer = tn_nn__extent(output, 0, axis);
  uint64_t line = tn_nn__extent(output, axis, output->rank), start = 0, done = 0;
  for (uint32_t n = 0; n < call->step->input_count; n++) {
    input = tn_nn__input(call, n);
    uint64_t part = tn_nn__extent(input, axis, input->rank);
    for (uint64_t i = 0; i < outer; i++) {
      if (tn_nn__ends_after(&done, part)) return TN_NN_CANCELLED;
      uint64_t to = i * line + start;
      if (same_meaning(input, output)) {
        memcpy((uint8_t *)output->data + to * size, (const uint8_t *)input->data + i * part * size, part * size);
      } else {
        for (uint64_t k = 0; k < part; k++) tn_nn__store(output, to + k, tn_nn__load(input, i * part + k));
      }
    }
    start += part;
  }
  return TN_NN_OK;
}

/* GATHER: numbers[0] is the axis; the second input holds the indices. */
int32_t tn_nn__gather(const tn_nn__call_t *call, const tn_nn_tensor_t *input, const tn_nn_tensor_t *output) {
  const tn_nn_tensor_t *indices = tn_nn__input(call, 1);
  uint32_t axis = (uint32_t)call->step->numbers[0];
  uint64_t outer = tn_nn__extent(input, 0, axis), length = input->dimensions[axis];
  size_t inner = tn_nn__extent(input, axis + 1, input->rank) * tn_nn__element_size(output);
  for (uint64_t n = 0, done = 0; n < indices->count; n++) {
    if (tn_nn__ends_after(&done, outer * inner)) return TN_NN_CANCELLED;
    /* The index is read once, because the memory may change between the check and the use. */
    int32_t index = ((const volatile int32_t *)indices->data)[n];
    if (index < 0 || (uint64_t)index >= length) return TN_NN_BAD_INDEX;
    for (uint64_t i = 0; i < outer; i++) {
      memcpy((uint8_t *)output->data + (i * indices->count + n) * inner,
             (const uint8_t *)input->data + (i * length + (uint64_t)index) * inner, inner);
    }
  }
  return TN_NN_OK;
}

/* ARGMAX: numbers[0] is the axis; the first of equal elements wins. */
int32_t tn_nn__argmax(const tn_nn__call_t *call, const tn_nn_tensor_t *input, const tn_nn_tensor_t *output) {
  uint32_t axis = (uint32_t)call->step->numbers[0];
  uint64_t size = input->dimensions[axis], inner = tn_nn__extent(input, axis + 1, input->rank);
  for (uint64_t line = 0, done = 0; line < output->count; line++) {
    if (tn_nn__ends_after(&done, size)) return TN_NN_CANCELLED;
    uint64_t first = line / inner * size * inner + line % inner;
    int32_t best = 0;
    double largest = tn_nn__load(input, first);
    for (uint64_t i = 1; i < size; i++) {
      double value = tn_nn__load(input, first + i * inner);
      if (value > largest) {
        largest = value;
        best = (int32_t)i;
      }
    }
    ((int32_t *)output->data)[line] = best;
  }
  return TN_NN_OK;
}

static int32_t convert(const tn_nn__call_t *call, const tn_nn_tensor_t *input, const tn_nn_tensor_t *output) {
  (void)call;
  for (uint64_t i = 0; i < output->count; i++) tn_nn__store(output, i, tn_nn__load(input, i));
  return TN_NN_OK;
}

int32_t tn_nn__convert(const tn_nn__call_t *call, const tn_nn_tensor_t *input, const tn_nn_tensor_t *output) {
  (void)input, (void)output;
  return tn_nn__run_blocks(call, convert);
}
