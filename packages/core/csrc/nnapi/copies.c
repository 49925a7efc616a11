/* Operations that copy rows of elements: PAD, SLICE and TILE; and CAST. */
#include <string.h>

#include "cancel.h"
#include "operations.h"

/* Advances a position over all axes but the last, row by row. */
static void next_row(const tn_nn_tensor_t *tensor, uint32_t position[TN_NN_RANK]) {
  for (uint32_t axis = tensor->rank - 1; axis-- > 0;) {
    if (++position[axis] < tensor->dimensions[axis]) return;
    position[axis] = 0;
  }
}

static int64_t at_least(int64_t value, int64_t bound) { return value < bound ? bound : value; }
static int64_t at_most(int64_t value, int64_t bound) { return value > bound ? bound : value; }

/* PAD and SLICE: element i of an axis of the input becomes element i + numbers[axis] of the output. SLICE has numbers
 * up to 0. The other elements of the output are 0. */
int32_t tn_nn__shift(const tn_nn__call_t *call, const tn_nn_tensor_t *input, const tn_nn_tensor_t *output) {
  const int32_t *shift = call->step->numbers;
  uint32_t last = output->rank - 1, position[TN_NN_RANK] = {0};
  size_t size = tn_nn__element_size(output);
  int64_t width = output->dimensions[last], start = at_least(shift[last], 0);
  int64_t end = at_most((int64_t)input->dimensions[last] + shift[last], width);
  int is_quantized = output->type == TN_NN_QUANT8 || output->type == TN_NN_QUANT8_SIGNED;
  int zero = is_quantized ? (uint8_t)output->zero_point : 0;
  uint8_t *to = output->data;
  for (uint64_t rows = output->count / (uint64_t)width, done = 0; rows > 0; rows--, to += (size_t)width * size) {
    if (tn_nn__ends_after(&done, (uint64_t)width)) return TN_NN_CANCELLED;
    int is_inside = 1;
    int64_t row = 0;
    for (uint32_t axis = 0; axis < last; axis++) {
      int64_t from = (int64_t)position[axis] - shift[axis];
      if (from < 0 || from >= input->dimensions[axis]) is_inside = 0;
      row = row * input->dimensions[axis] + from;
    }
    next_row(output, position);
    if (!is_inside) {
      memset(to, zero, (size_t)width * size);
      continue;
    }
    memset(to, zero, (size_t)start * size);
    int64_t from = row * input->dimensions[last] + start - shift[last];
    memcpy(to + (size_t)start * size, (const uint8_t *)input->data + (size_t)from * size, (size_t)(end - start) * size);
    memset(to + (size_t)end * size, zero, (size_t)(width - end) * size);
  }
  return TN_NN_OK;
}

/* TILE: repeats the input along each axis. */
int32_t tn_nn__tile(const tn_nn__call_t *call, const tn_nn_tensor_t *input, const tn_nn_tensor_t *output) {
  (void)call;
  uint32_t last = output->rank - 1, position[TN_NN_RANK] = {0};
  size_t line = input->dimensions[last] * tn_nn__element_size(output);
  uint32_t repeats = output->dimensions[last] / input->dimensions[last];
  uint8_t *to = output->data;
  for (uint64_t rows = output->count / output->dimensions[last], done = 0; rows > 0; rows--) {
    if (tn_nn__ends_after(&done, output->dimensions[last])) return TN_NN_CANCELLED;
    uint64_t row = 0;
    for (uint32_t axis = 0; axis < last; axis++)
      row = row * input->dimensions[axis] + position[axis] % input->dimensions[axis];
    next_row(output, position);
    for (uint32_t i = 0; i < repeats; i++, to += line) memcpy(to, (const uint8_t *)input->data + row * line, line);
  }
  return TN_NN_OK;
}

/* CAST: converts stored numbers, without scales and zero points. Integers are truncated and saturate. */
static int32_t cast(const tn_nn__call_t *call, const tn_nn_tensor_t *input, const tn_nn_tensor_t *output) {
  (void)call;
  tn_nn_tensor_t from = *input, to = *output;
  from.scale = to.scale = 1;
  from.zero_point = to.zero_point = 0;
  int truncates = !tn_nn__is_float(to.type);
  for (uint64_t i = 0; i < to.count; i++) {
    double value = tn_nn__load(&from, i);
    tn_nn__store_any(&to, i, truncates ? trunc(value) : value);
  }
  return TN_NN_OK;
}

int32_t tn_nn__cast(const tn_nn__call_t *call, const tn_nn_tensor_t *input, const tn_nn_tensor_t *output) {
  (void)input, (void)output;
  return tn_nn__run_blocks(call, cast);
}
