/* A handler with an optional operand, and any number of further operands. */
#include <tenon/signature.h>
#include <tenon/xla_handler.h>
#include <tenon/xla_mark.h>

TN_SIGNATURE(optional_sum,
             "(x: f32[n], bias?: f32[n], ...more: f32[n]) -> (y: f32[n]) -- The sum of all operands. Only x is required.");

TN_XLA_EXPORT tn_xla_error_t *optional_sum(tn_xla_call_frame_t *frame) {
  static const tn_xla_signature_t signature = {
      .minor = 3, .stage = TN_XLA_EXECUTE, .args = TN_XLA_ANY, .rets = 1, .attrs = TN_XLA_ANY};
  tn_xla_reader_t in;
  if (!tn_xla_open(&in, frame, &signature)) return in.error;
  tn_xla_arg(&in, 0, TN_XLA_F32, 1);
  tn_xla_buffer_t *y = tn_xla_ret(&in, 0, TN_XLA_F32, 1);
  if (!tn_xla_complete(&in)) return in.error;
  for (int64_t k = 0; k < frame->args.size; k++) {
    const tn_xla_buffer_t *term = tn_xla_arg(&in, k, TN_XLA_F32, 1);
    if (!tn_xla_complete(&in)) return in.error;
    if (!tn_xla_same_shape(term, y))
      return tn_xla_fail(frame, TN_XLA_INVALID_ARGUMENT, "operand %lld must have the shape of y", (long long)k);
    for (int64_t i = 0; i < y->dims[0]; i++) {
      const float value = ((const float *)term->data)[i];
      ((float *)y->data)[i] = k == 0 ? value : ((float *)y->data)[i] + value;
    }
  }
  return NULL;
}
