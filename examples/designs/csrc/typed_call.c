/* The typed custom call of XLA's document. */
#include <tenon/xla_handler.h>
#include <tenon/xla_mark.h>

// example: typed
TN_XLA_EXPORT tn_xla_error_t *do_typed_call(tn_xla_call_frame_t *frame) {
  static const tn_xla_signature_t signature = {.minor = 1, .stage = TN_XLA_EXECUTE, .traits = 0, .args = 2, .rets = 1};
  tn_xla_reader_t call;
  if (!tn_xla_open(&call, frame, &signature)) return call.error;
  // Constrain the arguments to rank-1 buffers of F32.
  const tn_xla_buffer_t *in0 = tn_xla_arg(&call, 0, TN_XLA_F32, 1), *in1 = tn_xla_arg(&call, 1, TN_XLA_F32, 1);
  tn_xla_buffer_t *out = tn_xla_ret(&call, 0, TN_XLA_F32, 1);
  if (!tn_xla_complete(&call)) return call.error;
  const int64_t d0 = in0->dims[0], d1 = in1->dims[0];
  // Check that dimensions are compatible.
  if (out->dims[0] != d1) return tn_xla_fail(frame, TN_XLA_INVALID_ARGUMENT, "unexpected dimensions");
  for (int64_t i = 0; i < d1; ++i) {
    ((float *)out->data)[i] = ((const float *)in0->data)[i % d0] + ((const float *)in1->data)[i];
  }
  return NULL;
}
TN_XLA_MARK_TYPED(do_typed_call);
// end
