#include <math.h>
#include <tenon/kernel.h>
TN_KERNEL(softmax, "(x: f32[..., c]) -> (y: f32[..., c]); temperature: f32 = 1 -- Softmax over the last axis.") {
  const tn_xla_buffer_t *x = tn_xla_arg(in, 0, TN_XLA_F32, TN_XLA_ANY), *y = tn_xla_ret_like(in, 0, x);
  const float temperature = tn_xla_attr_f32(in, NULL, "temperature");
  if (!tn_xla_complete(in)) return;
  const int64_t count = tn_xla_element_count(x), c = tn_xla_last_size(x);
  for (int64_t row = 0; row < count; row += c) {
    const float *from = (const float *)x->data + row;
    float *to = (float *)y->data + row, max = -INFINITY, sum = 0;
    for (int64_t i = 0; i < c; i++) max = fmaxf(max, from[i]);
    for (int64_t i = 0; i < c; i++) sum += to[i] = expf((from[i] - max) / temperature);
    for (int64_t i = 0; i < c; i++) to[i] /= sum;
  }
}
