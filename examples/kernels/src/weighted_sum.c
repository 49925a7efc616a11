/* result = w0 * x0 + w1 * x1 + w2 * x2 + w3, with four typed buffers, four attributes, and little work. */
#include <tenon/signature.h>
#include <tenon/xla_handler.h>
#include <tenon/xla_mark.h>

TN_SIGNATURE(weighted_sum,
             "(x0: f32[n], x1: f32[n], x2: f32[n]) -> (y: f32[n]); w0: s32, w1: s32, w2: s32, w3: s32 "
             "-- y = w0 * x0 + w1 * x1 + w2 * x2 + w3");

TN_XLA_EXPORT tn_xla_error_t *weighted_sum(tn_xla_call_frame_t *frame) {
  static const tn_xla_signature_t signature = {.minor = 3, .stage = TN_XLA_EXECUTE, .args = 3, .rets = 1, .attrs = 4};
  tn_xla_reader_t in;
  if (!tn_xla_open(&in, frame, &signature)) return in.error;
  const tn_xla_buffer_t *x0 = tn_xla_arg(&in, 0, TN_XLA_F32, 1);
  const tn_xla_buffer_t *x1 = tn_xla_arg(&in, 1, TN_XLA_F32, 1);
  const tn_xla_buffer_t *x2 = tn_xla_arg(&in, 2, TN_XLA_F32, 1);
  tn_xla_buffer_t *out = tn_xla_ret(&in, 0, TN_XLA_F32, 1);
  const int32_t w0 = tn_xla_attr_s32(&in, NULL, "w0");
  const int32_t w1 = tn_xla_attr_s32(&in, NULL, "w1");
  const int32_t w2 = tn_xla_attr_s32(&in, NULL, "w2");
  const int32_t w3 = tn_xla_attr_s32(&in, NULL, "w3");
  if (!tn_xla_complete(&in)) return in.error;
  const int64_t count = out->dims[0];
  if (x0->dims[0] != count || x1->dims[0] != count || x2->dims[0] != count)
    return tn_xla_fail(frame, TN_XLA_INVALID_ARGUMENT, "the operands must be as long as the result");
  const float *a = x0->data, *b = x1->data, *c = x2->data;
  float *to = out->data;
  for (int64_t i = 0; i < count; i++) to[i] = (float)w0 * a[i] + (float)w1 * b[i] + (float)w2 * c[i] + (float)w3;
  return NULL;
}
