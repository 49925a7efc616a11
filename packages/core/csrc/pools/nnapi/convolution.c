/* Convolutions and fully connected layers: NHWC, filters as NNAPI lays them out. Quantized sums are exact integers, and
 * are scaled at the end by the scale of the filter or of its channel. */
#include "operations.h"

enum { PAD_LEFT, PAD_TOP, STRIDE_WIDTH, STRIDE_HEIGHT, DILATION_WIDTH, DILATION_HEIGHT };

static inline int32_t quantized(const tn_nn_tensor_t *tensor, uint64_t i) {
  int32_t value = tensor->type == TN_NN_QUANT8 ? ((const uint8_t *)tensor->data)[i] : ((const int8_t *)tensor->data)[i];
  return value - tensor->zero_point;
}

/* A sum of products of floats or of integers. A sum of 32-bit floats is rounded to one. */
typedef struct {
  double real;
  int64_t whole;
} total_t;

/* Adds `count` products to a sum; elements of the two tensors are `step_a` and `step_b` apart. */
static inline void add_products(total_t *total, const tn_nn_tensor_t *a, uint64_t at_a, uint64_t step_a,
                                const tn_nn_tensor_t *b, uint64_t at_b, uint64_t step_b, uint64_t count) {
  if (a->type == TN_NN_FLOAT32) {
    const float *left = (const float *)a->data + at_a, *right = (const float *)b->data + at_b;
    float sum = (float)total->real;
    for (uint64_t i = 0; i < count; i++) sum += left[i * step_a] * right[i * step_b];
    total->real = (double)sum;
  } else if (a->type == TN_NN_FLOAT16) {
    for (uint64_t i = 0; i < count; i++)
      total->real += tn_nn__load(a, at_a + i * step_a) * tn_nn__load(b, at_b + i * step_b);
  } else {
    int64_t sum = total->whole;
    for (uint64_t i = 0; i < count; i++)
      sum += (int64_t)quantized(a, at_a + i * step_a) * quantized(b, at_b + i * step_b);
    total->whole = sum;
  }
}

/* The bias, with which the sum of a channel starts. The bias of quantized tensors has the scale of the products. */
static inline total_t start_with(const tn_nn_tensor_t *bias, uint64_t channel) {
  if (tn_nn__is_float(bias->type)) return (total_t){tn_nn__load(bias, channel), 0};
  return (total_t){0, ((const int32_t *)bias->data)[channel]};
}

static inline void finish(const tn_nn_tensor_t *input, const tn_nn_tensor_t *filter, uint64_t channel,
                          const tn_nn_tensor_t *output, uint64_t at, total_t total, tn_nn__bounds_t bounds) {
  double value = total.real;
  if (!tn_nn__is_float(output->type)) {
    float scale = filter->scales == NULL ? filter->scale : filter->scales[channel];
    value = (double)total.whole * (double)input->scale * (double)scale;
  }
  tn_nn__store(output, at, tn_nn__bound(value, bounds));
}

/* The part of a filter that lies inside the input, along one axis and at one place of the output. */
typedef struct {
  int64_t origin; /* in the input, of the filter's first element; may be outside */
  int64_t first;
  int64_t end;
} window_t;

static inline window_t window_at(int64_t place, int64_t stride, int64_t padding, int64_t dilation, int64_t filter,
                                 int64_t input) {
  window_t window = {place * stride - padding, 0, filter};
  if (window.origin < 0) window.first = (-window.origin + dilation - 1) / dilation;
  int64_t fitting = window.origin >= input ? 0 : (input - window.origin + dilation - 1) / dilation;
  if (fitting < window.end) window.end = fitting;
  return window;
}

/* CONV_2D combines all input channels; DEPTHWISE_CONV_2D has filters of its own for each input channel. */
static int32_t convolve(const tn_nn__call_t *call, const tn_nn_tensor_t *input, const tn_nn_tensor_t *output,
                        int depthwise) {
  const tn_nn_tensor_t *filter = tn_nn__input(call, 1), *bias = tn_nn__input(call, 2);
  const int32_t *numbers = call->step->numbers;
  tn_nn__bounds_t bounds = tn_nn__bounds(call->step->activation);
  int64_t height = input->dimensions[1], width = input->dimensions[2], depth = input->dimensions[3];
  int64_t filter_height = filter->dimensions[1], filter_width = filter->dimensions[2];
  int64_t channels = output->dimensions[3], per_input = depthwise && depth > 0 ? channels / depth : 1;
  uint64_t at = 0;
  for (int64_t batch = 0; batch < output->dimensions[0]; batch++) {
    for (int64_t y = 0; y < output->dimensions[1]; y++) {
      window_t rows =
          window_at(y, numbers[STRIDE_HEIGHT], numbers[PAD_TOP], numbers[DILATION_HEIGHT], filter_height, height);
      for (int64_t x = 0; x < output->dimensions[2]; x++) {
        if (x % 16 == 0 && tn_nn__is_cancelled()) return TN_NN_CANCELLED;
        window_t columns =
            window_at(x, numbers[STRIDE_WIDTH], numbers[PAD_LEFT], numbers[DILATION_WIDTH], filter_width, width);
        for (int64_t channel = 0; channel < channels; channel++, at++) {
          total_t total = start_with(bias, (uint64_t)channel);
          for (int64_t i = rows.first; i < rows.end; i++) {
            int64_t row = (batch * height + rows.origin + i * numbers[DILATION_HEIGHT]) * width;
            for (int64_t k = columns.first; k < columns.end; k++) {
              int64_t pixel = (row + columns.origin + k * numbers[DILATION_WIDTH]) * depth;
              int64_t tap = i * filter_width + k;
              if (depthwise) {
                add_products(&total, input, (uint64_t)(pixel + channel / per_input), 0, filter,
                             (uint64_t)(tap * channels + channel), 0, 1);
              } else {
                int64_t weights = (channel * filter_height * filter_width + tap) * depth;
                add_products(&total, input, (uint64_t)pixel, 1, filter, (uint64_t)weights, 1, (uint64_t)depth);
              }
            }
          }
          finish(input, filter, (uint64_t)channel, output, at, total, bounds);
        }
      }
    }
  }
  return TN_NN_OK;
}

/* Input [N,H,W,C], filter [O,h,w,C], bias [O]; numbers: padding left and top, strides and dilations, width first. */
int32_t tn_nn__convolution(const tn_nn__call_t *call, const tn_nn_tensor_t *input, const tn_nn_tensor_t *output) {
  return convolve(call, input, output, 0);
}

/* Input [N,H,W,C], filter [1,h,w,O] with O a multiple of C, bias [O]; numbers as above. */
int32_t tn_nn__depthwise(const tn_nn__call_t *call, const tn_nn_tensor_t *input, const tn_nn_tensor_t *output) {
  return convolve(call, input, output, 1);
}

/* Input of any rank as [batch, size], weights [units, size], bias [units]. */
int32_t tn_nn__fully_connected(const tn_nn__call_t *call, const tn_nn_tensor_t *input, const tn_nn_tensor_t *output) {
  const tn_nn_tensor_t *weights = tn_nn__input(call, 1), *bias = tn_nn__input(call, 2);
  tn_nn__bounds_t bounds = tn_nn__bounds(call->step->activation);
  uint64_t units = weights->dimensions[0], size = weights->dimensions[1];
  for (uint64_t batch = 0; batch < output->dimensions[0]; batch++) {
    for (uint64_t unit = 0; unit < units; unit++) {
      if (unit % 16 == 0 && tn_nn__is_cancelled()) return TN_NN_CANCELLED;
      total_t total = start_with(bias, unit);
      add_products(&total, input, batch * size, 1, weights, unit * size, 1, size);
      finish(input, weights, unit, output, batch * units + unit, total, bounds);
    }
  }
  return TN_NN_OK;
}
