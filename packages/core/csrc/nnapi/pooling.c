/* Pooling of images: numbers are padding left and top, strides of width and height, width and height of the window, and
 * the layout. The padding is ignored. */
#include "cancel.h"
#include "image.h"

enum { PAD_LEFT, PAD_TOP, STRIDE_WIDTH, STRIDE_HEIGHT, WINDOW_WIDTH, WINDOW_HEIGHT };

static int64_t at_least(int64_t value, int64_t bound) { return value < bound ? bound : value; }
static int64_t at_most(int64_t value, int64_t bound) { return value > bound ? bound : value; }

/* Its callers pass constants as `type` and `average`, so that no choice stays in the inner loop. */
static inline __attribute__((always_inline)) int32_t pool_type(const tn_nn__call_t *call, tn_nn_tensor_t input,
                                                               tn_nn_tensor_t output, uint32_t type, int average) {
  input.type = output.type = type;
  const int32_t *numbers = call->step->numbers;
  tn_nn__bounds_t bounds = tn_nn__bounds(call->step->activation);
  const tn_nn__image_t from = tn_nn__image(call, &input), to = tn_nn__image(call, &output);
  for (int64_t batch = 0; batch < to.batches; batch++) {
    for (int64_t y = 0; y < to.height; y++) {
      int64_t top = y * numbers[STRIDE_HEIGHT] - numbers[PAD_TOP];
      int64_t bottom = at_most(top + numbers[WINDOW_HEIGHT], from.height);
      for (int64_t x = 0; x < to.width; x++) {
        if (x % 16 == 0 && tn_nn__is_cancelled()) return TN_NN_CANCELLED;
        int64_t left = x * numbers[STRIDE_WIDTH] - numbers[PAD_LEFT];
        int64_t right = at_most(left + numbers[WINDOW_WIDTH], from.width);
        int64_t at = batch * to.batch + y * to.row + x * to.column;
        int64_t first = batch * from.batch;
        for (int64_t channel = 0; channel < to.channels; channel++, at += to.channel, first += from.channel) {
          double largest = 0, sum = 0;
          int64_t count = 0;
          for (int64_t row = at_least(top, 0); row < bottom; row++) {
            for (int64_t column = at_least(left, 0); column < right; column++, count++) {
              double value = tn_nn__load(&input, (uint64_t)(first + row * from.row + column * from.column));
              if (count == 0 || value > largest) largest = value;
              sum += value;
            }
          }
          double value = average && count > 0 ? sum / (double)count : largest;
          tn_nn__store(&output, (uint64_t)at, tn_nn__bound(value, bounds));
        }
      }
    }
  }
  return TN_NN_OK;
}

static inline __attribute__((always_inline)) int32_t pool(const tn_nn__call_t *call, const tn_nn_tensor_t *input,
                                                          const tn_nn_tensor_t *output, int average) {
  switch (input->type) {
    case TN_NN_FLOAT32:
      return pool_type(call, *input, *output, TN_NN_FLOAT32, average);
    case TN_NN_FLOAT16:
      return pool_type(call, *input, *output, TN_NN_FLOAT16, average);
    case TN_NN_QUANT8:
      return pool_type(call, *input, *output, TN_NN_QUANT8, average);
    default:
      return pool_type(call, *input, *output, TN_NN_QUANT8_SIGNED, average);
  }
}

int32_t tn_nn__average_pool(const tn_nn__call_t *call, const tn_nn_tensor_t *input, const tn_nn_tensor_t *output) {
  return pool(call, input, output, 1);
}

int32_t tn_nn__max_pool(const tn_nn__call_t *call, const tn_nn_tensor_t *input, const tn_nn_tensor_t *output) {
  return pool(call, input, output, 0);
}
