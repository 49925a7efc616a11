/* Convolutions and fully connected layers, with filters as NNAPI lays them out. Quantized sums are exact integers, and
 * are scaled at the end by the scale of the filter or of its channel. */
#include "cancel.h"
#include "image.h"

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

/* Adds the products of a pixel with as many weights of a filter. */
static inline void add_pixel(total_t *total, const tn_nn_tensor_t *input, const tn_nn__image_t *image, int64_t pixel,
                             const tn_nn_tensor_t *filter, int64_t weights) {
  uint64_t depth = (uint64_t)image->channels;
  if (image->channel == 1) /* The compiler makes vector code of this call only. */
    add_products(total, input, (uint64_t)pixel, 1, filter, (uint64_t)weights, 1, depth);
  else
    add_products(total, input, (uint64_t)pixel, (uint64_t)image->channel, filter, (uint64_t)weights, 1, depth);
}

/* CONV_2D combines all input channels; DEPTHWISE_CONV_2D has filters of its own for each input channel. */
static int32_t convolve(const tn_nn__call_t *call, const tn_nn_tensor_t *input, const tn_nn_tensor_t *output,
                        int depthwise) {
  const tn_nn_tensor_t *filter = tn_nn__input(call, 1), *bias = tn_nn__input(call, 2);
  const int32_t *numbers = call->step->numbers;
  const tn_nn__image_t from = tn_nn__image(call, input), to = tn_nn__image(call, output);
  tn_nn__bounds_t bounds = tn_nn__bounds(call->step->activation);
  int64_t filter_height = filter->dimensions[1], filter_width = filter->dimensions[2];
  int64_t channels = to.channels, per_input = depthwise && from.channels > 0 ? channels / from.channels : 1;
  for (int64_t batch = 0; batch < to.batches; batch++) {
    for (int64_t y = 0; y < to.height; y++) {
      window_t rows =
          window_at(y, numbers[STRIDE_HEIGHT], numbers[PAD_TOP], numbers[DILATION_HEIGHT], filter_height, from.height);
      for (int64_t x = 0; x < to.width; x++) {
        if (x % 16 == 0 && tn_nn__is_cancelled()) return TN_NN_CANCELLED;
        window_t columns = window_at(x, numbers[STRIDE_WIDTH], numbers[PAD_LEFT], numbers[DILATION_WIDTH], filter_width,
                                     from.width);
        int64_t at = batch * to.batch + y * to.row + x * to.column;
        for (int64_t channel = 0; channel < channels; channel++, at += to.channel) {
          total_t total = start_with(bias, (uint64_t)channel);
          int64_t source = depthwise ? channel / per_input * from.channel : 0;
          for (int64_t i = rows.first; i < rows.end; i++) {
            int64_t row = batch * from.batch + (rows.origin + i * numbers[DILATION_HEIGHT]) * from.row;
            for (int64_t k = columns.first; k < columns.end; k++) {
              int64_t pixel = row + (columns.origin + k * numbers[DILATION_WIDTH]) * from.column;
              int64_t tap = i * filter_width + k;
              if (depthwise) {
                add_products(&total, input, (uint64_t)(pixel + source), 0, filter,
                             (uint64_t)(tap * channels + channel), 0, 1);
              } else {
                add_pixel(&total, input, &from, pixel, filter,
                          (channel * filter_height * filter_width + tap) * from.channels);
              }
            }
          }
          finish(input, filter, (uint64_t)channel, output, (uint64_t)at, total, bounds);
        }
      }
    }
  }
  return TN_NN_OK;
}

/* Image, filter [O,h,w,C], bias [O]; numbers: padding left and top, strides, dilations, width first, and the layout. */
int32_t tn_nn__convolution(const tn_nn__call_t *call, const tn_nn_tensor_t *input, const tn_nn_tensor_t *output) {
  return convolve(call, input, output, 0);
}

/* Image of C channels, filter [1,h,w,O] with O a multiple of C, bias [O]; numbers as above. */
int32_t tn_nn__depthwise(const tn_nn__call_t *call, const tn_nn_tensor_t *input, const tn_nn_tensor_t *output) {
  return convolve(call, input, output, 1);
}

/* Image, filter [O,h,w,C], bias [O]; numbers: padding left and top, strides and the layout. Each pixel of the input is
 * multiplied with the filter and added to the pixels of the output from (x * stride - padding). The loops compute one pixel
 * of the output at a time, from the taps i with (y + padding - i) % stride == 0. */
int32_t tn_nn__transposed_convolution(const tn_nn__call_t *call, const tn_nn_tensor_t *input,
                                      const tn_nn_tensor_t *output) {
  const tn_nn_tensor_t *filter = tn_nn__input(call, 1), *bias = tn_nn__input(call, 2);
  const int32_t *numbers = call->step->numbers;
  const tn_nn__image_t from = tn_nn__image(call, input), to = tn_nn__image(call, output);
  tn_nn__bounds_t bounds = tn_nn__bounds(call->step->activation);
  int64_t height = filter->dimensions[1], width = filter->dimensions[2];
  int64_t stride_y = numbers[STRIDE_HEIGHT], stride_x = numbers[STRIDE_WIDTH];
  for (int64_t batch = 0; batch < to.batches; batch++) {
    for (int64_t y = 0; y < to.height; y++) {
      int64_t below = y + numbers[PAD_TOP];
      for (int64_t x = 0; x < to.width; x++) {
        if (x % 16 == 0 && tn_nn__is_cancelled()) return TN_NN_CANCELLED;
        int64_t right = x + numbers[PAD_LEFT], at = batch * to.batch + y * to.row + x * to.column;
        for (int64_t channel = 0; channel < to.channels; channel++, at += to.channel) {
          total_t total = start_with(bias, (uint64_t)channel);
          for (int64_t i = below % stride_y; i < height && i <= below; i += stride_y) {
            int64_t row = (below - i) / stride_y;
            if (row >= from.height) continue;
            for (int64_t k = right % stride_x; k < width && k <= right; k += stride_x) {
              int64_t column = (right - k) / stride_x;
              if (column >= from.width) continue;
              add_pixel(&total, input, &from, batch * from.batch + row * from.row + column * from.column, filter,
                        ((channel * height + i) * width + k) * from.channels);
            }
          }
          finish(input, filter, (uint64_t)channel, output, (uint64_t)at, total, bounds);
        }
      }
    }
  }
  return TN_NN_OK;
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
