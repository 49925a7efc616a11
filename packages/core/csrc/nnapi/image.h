/* Images as tensors of rank 4, in either order of axes. */
#pragma once

#include "operations.h"

/* The number of a step that is 0 for images [N,H,W,C], and 1 for images [N,C,H,W]. */
enum { TN_NN__LAYOUT = 6 };

/* The sizes of an image, and the distances of neighbours along its axes, in elements. */
typedef struct {
  int64_t batches, height, width, channels;
  int64_t batch, row, column, channel;
} tn_nn__image_t;

static inline tn_nn__image_t tn_nn__image(const tn_nn__call_t *call, const tn_nn_tensor_t *tensor) {
  const uint32_t *sizes = tensor->dimensions;
  if (call->step->numbers[TN_NN__LAYOUT] == 0) {
    int64_t row = (int64_t)sizes[2] * sizes[3];
    return (tn_nn__image_t){sizes[0], sizes[1], sizes[2], sizes[3], sizes[1] * row, row, sizes[3], 1};
  }
  int64_t channel = (int64_t)sizes[2] * sizes[3];
  return (tn_nn__image_t){sizes[0], sizes[2], sizes[3], sizes[1], sizes[1] * channel, sizes[3], 1, channel};
}
