/* MEAN and REDUCE_*: bit i of numbers[0] says whether axis i is reduced. */
#include "cancel.h"
#include "operations.h"

/* Some axes of a tensor, and a position on them. */
typedef struct {
  uint32_t count;
  uint64_t sizes[TN_NN_RANK], strides[TN_NN_RANK], position[TN_NN_RANK];
  uint64_t at; /* the index of the element at the position */
} axes_t;

static axes_t axes_of(const tn_nn_tensor_t *tensor, uint32_t chosen) {
  axes_t axes = {0};
  for (uint32_t axis = 0; axis < tensor->rank; axis++) {
    if ((chosen >> axis & 1) == 0) continue;
    axes.sizes[axes.count] = tensor->dimensions[axis];
    axes.strides[axes.count++] = tn_nn__extent(tensor, axis + 1, tensor->rank);
  }
  return axes;
}

/* Returns to the start after the last position. */
static void advance(axes_t *axes) {
  for (uint32_t i = axes->count; i-- > 0;) {
    axes->at += axes->strides[i];
    if (++axes->position[i] < axes->sizes[i]) return;
    axes->at -= axes->strides[i] * axes->sizes[i];
    axes->position[i] = 0;
  }
}

/* NaN wins over all numbers. ALL is the least of booleans, and ANY the largest. */
static double accumulate(uint32_t operation, double total, double value) {
  switch (operation) {
    case TN_NN_MEAN:
    case TN_NN_REDUCE_SUM:
      return total + value;
    case TN_NN_REDUCE_PROD:
      return total * value;
    case TN_NN_REDUCE_MAX:
    case TN_NN_REDUCE_ANY:
      return total >= value || total != total ? total : value;
    default:
      return total <= value || total != total ? total : value;
  }
}

int32_t tn_nn__reduce(const tn_nn__call_t *call, const tn_nn_tensor_t *input, const tn_nn_tensor_t *output) {
  const uint32_t operation = call->step->operation, reduced = (uint32_t)call->step->numbers[0];
  axes_t kept = axes_of(input, ~reduced), rest = axes_of(input, reduced);
  uint64_t size = input->count / output->count, until_look = 0;
  for (uint64_t i = 0; i < output->count; i++, advance(&kept)) {
    double total = tn_nn__load(input, kept.at);
    advance(&rest);
    for (uint64_t k = 1; k < size; k++, advance(&rest)) {
      if (until_look-- == 0) {
        if (tn_nn__is_cancelled()) return TN_NN_CANCELLED;
        until_look = 1 << 16;
      }
      total = accumulate(operation, total, tn_nn__load(input, kept.at + rest.at));
    }
    tn_nn__store_any(output, i, operation == TN_NN_MEAN ? total / (double)size : total);
  }
  return TN_NN_OK;
}
