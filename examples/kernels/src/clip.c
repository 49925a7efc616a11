/* y = x, limited to the range from low to high. The library has a handler for each version of the ABI. */
#include <tenon/xla_handler.h>
#include <tenon/xla_mark.h>

/* x and y: f32[n]; attributes low and high: f32. */
static tn_xla_error_t *run(tn_xla_call_frame_t *frame, int32_t minor) {
  const tn_xla_signature_t signature = {.minor = minor, .stage = TN_XLA_EXECUTE, .args = 1, .rets = 1, .attrs = 2};
  tn_xla_reader_t in;
  if (!tn_xla_open(&in, frame, &signature)) return in.error;
  const tn_xla_buffer_t *x = tn_xla_arg(&in, 0, TN_XLA_F32, 1);
  tn_xla_buffer_t *y = tn_xla_ret(&in, 0, TN_XLA_F32, 1);
  const float high = tn_xla_attr_f32(&in, NULL, "high");
  const float low = tn_xla_attr_f32(&in, NULL, "low");
  if (!tn_xla_complete(&in)) return in.error;
  if (!tn_xla_same_shape(x, y)) return tn_xla_fail(frame, TN_XLA_INVALID_ARGUMENT, "y must have the shape of x");
  for (int64_t i = 0; i < x->dims[0]; i++) {
    const float value = ((const float *)x->data)[i];
    ((float *)y->data)[i] = value < low ? low : value > high ? high : value;
  }
  return NULL;
}

TN_XLA_EXPORT tn_xla_error_t *clip_v1(tn_xla_call_frame_t *frame) { return run(frame, 1); }
TN_XLA_MARK_TYPED(clip_v1);
TN_XLA_EXPORT tn_xla_error_t *clip_v2(tn_xla_call_frame_t *frame) { return run(frame, 2); }
TN_XLA_MARK_TYPED(clip_v2);
TN_XLA_EXPORT tn_xla_error_t *clip_v3(tn_xla_call_frame_t *frame) { return run(frame, 3); }
TN_XLA_MARK_TYPED(clip_v3);
TN_XLA_EXPORT tn_xla_error_t *clip_v4(tn_xla_call_frame_t *frame) { return run(frame, 4); }
TN_XLA_MARK_TYPED(clip_v4);
