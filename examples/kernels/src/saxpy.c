/* z = a * x + y, f32 of any rank. */
#include <tenon/signature.h>
#include <tenon/xla_handler.h>
#include <tenon/xla_mark.h>

TN_SIGNATURE(saxpy, "(x: f32[...s], y: f32[...s]) -> (z: f32[...s]); a: f32 -- z = a * x + y");

TN_XLA_EXPORT tn_xla_error_t *saxpy(tn_xla_call_frame_t *frame) {
  static const tn_xla_signature_t signature = {.minor = 2, .stage = TN_XLA_EXECUTE, .args = 2, .rets = 1, .attrs = 1};
  tn_xla_reader_t in;
  if (!tn_xla_open(&in, frame, &signature)) return in.error;
  const tn_xla_buffer_t *x = tn_xla_arg(&in, 0, TN_XLA_F32, TN_XLA_ANY);
  const tn_xla_buffer_t *y = tn_xla_arg(&in, 1, TN_XLA_F32, TN_XLA_ANY);
  tn_xla_buffer_t *out = tn_xla_ret(&in, 0, TN_XLA_F32, TN_XLA_ANY);
  const float a = tn_xla_attr_f32(&in, NULL, "a");
  if (!tn_xla_complete(&in)) return in.error;
  if (!tn_xla_same_shape(x, y) || !tn_xla_same_shape(x, out))
    return tn_xla_fail(frame, TN_XLA_INVALID_ARGUMENT, "x, y and the result must have the same shape");
  const int64_t count = tn_xla_element_count(x);
  for (int64_t i = 0; i < count; i++)
    ((float *)out->data)[i] = a * ((const float *)x->data)[i] + ((const float *)y->data)[i];
  return NULL;
}
