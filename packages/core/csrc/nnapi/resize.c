/* RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR. With numbers[ALIGN_CORNERS] the centers of the corners coincide, and with
 * numbers[HALF_PIXEL] pixels have their values at their centers. */
#include "cancel.h"
#include "image.h"

enum { ALIGN_CORNERS, HALF_PIXEL };

/* One axis: sizes of the input and the output. */
typedef struct {
  double scale, offset;
  int64_t size;
  int aligns;
} axis_t;

static axis_t axis_of(const tn_nn__call_t *call, int64_t input, int64_t output) {
  int aligns = call->step->numbers[ALIGN_CORNERS] != 0;
  double offset = call->step->numbers[HALF_PIXEL] != 0 ? 0.5 : 0;
  double scale = aligns && output > 1 ? (double)(input - 1) / (double)(output - 1) : (double)input / (double)output;
  return (axis_t){scale, offset, input, aligns};
}

static int64_t clamp(int64_t value, int64_t most) { return value < 0 ? 0 : value > most ? most : value; }

static int64_t nearest(const axis_t *axis, int64_t at) {
  double place = ((double)at + axis->offset) * axis->scale;
  return clamp((int64_t)(axis->aligns ? round(place) : floor(place)), axis->size - 1);
}

/* Two pixels around a place, and the weight of the second. */
typedef struct {
  int64_t first, second;
  double weight;
} pair_t;

static pair_t around(const axis_t *axis, int64_t at) {
  double place = ((double)at + axis->offset) * axis->scale - axis->offset;
  if (!(place > 0)) return (pair_t){0, 0, 0};
  int64_t first = clamp((int64_t)place, axis->size - 1);
  return (pair_t){first, clamp(first + 1, axis->size - 1), place - (double)first};
}

static int32_t resize(const tn_nn__call_t *call, const tn_nn_tensor_t *input, const tn_nn_tensor_t *output,
                      int is_bilinear) {
  tn_nn__image_t from = tn_nn__image(call, input), to = tn_nn__image(call, output);
  axis_t rows = axis_of(call, from.height, to.height), columns = axis_of(call, from.width, to.width);
  for (int64_t batch = 0; batch < to.batches; batch++) {
    for (int64_t y = 0; y < to.height; y++) {
      if (tn_nn__is_cancelled()) return TN_NN_CANCELLED;
      pair_t row = around(&rows, y);
      for (int64_t x = 0; x < to.width; x++) {
        pair_t column = around(&columns, x);
        int64_t pixel = batch * from.batch, at = batch * to.batch + y * to.row + x * to.column;
        if (!is_bilinear) pixel += nearest(&rows, y) * from.row + nearest(&columns, x) * from.column;
        for (int64_t channel = 0; channel < to.channels; channel++, pixel += from.channel, at += to.channel) {
          double value = 0;
          if (is_bilinear) {
            int64_t top = pixel + row.first * from.row, bottom = pixel + row.second * from.row;
            int64_t left = column.first * from.column, right = column.second * from.column;
            double above = tn_nn__load(input, (uint64_t)(top + left)) * (1 - column.weight);
            double below = tn_nn__load(input, (uint64_t)(bottom + left)) * (1 - column.weight);
            if (column.weight > 0) {
              above += tn_nn__load(input, (uint64_t)(top + right)) * column.weight;
              below += tn_nn__load(input, (uint64_t)(bottom + right)) * column.weight;
            }
            value = row.weight > 0 ? above * (1 - row.weight) + below * row.weight : above;
          } else {
            value = tn_nn__load(input, (uint64_t)pixel);
          }
          tn_nn__store(output, (uint64_t)at, value);
        }
      }
    }
  }
  return TN_NN_OK;
}

int32_t tn_nn__resize_bilinear(const tn_nn__call_t *call, const tn_nn_tensor_t *input, const tn_nn_tensor_t *output) {
  return resize(call, input, output, 1);
}

int32_t tn_nn__resize_nearest(const tn_nn__call_t *call, const tn_nn_tensor_t *input, const tn_nn_tensor_t *output) {
  return resize(call, input, output, 0);
}
