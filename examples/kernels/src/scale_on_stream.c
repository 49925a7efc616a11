/* Typed handlers of devices, one for each version of the ABI. They run without a device, because they read and write
 * the buffers at once and use the stream as a counter of launches. */
#include "typed.h"

/* y = a * x, both f32[n]; attribute a: f32. Adds one to the counter at the stream, unless the stream is null. */
static tn_xla_error_t *run(tn_xla_call_frame_t *frame, int32_t minor) {
  static const uint32_t traits = TN_XLA_TRAIT_COMMAND_BUFFER_COMPATIBLE;
  const tn_xla_signature_t signature = {
      .minor = minor, .stage = TN_XLA_EXECUTE, .traits = traits, .args = 1, .rets = 1, .attrs = 1};
  tn_xla_reader_t in;
  if (!tn_xla_open(&in, frame, &signature)) return in.error;
  const tn_xla_buffer_t *x = tn_xla_arg(&in, 0, TN_XLA_F32, 1);
  tn_xla_buffer_t *y = tn_xla_ret(&in, 0, TN_XLA_F32, 1);
  const float a = tn_xla_attr_f32(&in, NULL, "a");
  if (!tn_xla_complete(&in)) return in.error;
  if (!tn_xla_same_shape(x, y)) return tn_xla_fail(frame, TN_XLA_INVALID_ARGUMENT, "y must have the shape of x");
  tn_xla_stream_get_args_t args = {sizeof args, NULL, frame->ctx, NULL};
  tn_xla_error_t *error = frame->api->stream_get(&args);
  if (error != NULL) return error;
  for (int64_t i = 0; i < x->dims[0]; i++) ((float *)y->data)[i] = a * ((const float *)x->data)[i];
  if (args.stream != NULL) ++*(int64_t *)args.stream;
  return NULL;
}

TYPED_HANDLER(scale_on_stream_v1, run(frame, 1));
TYPED_HANDLER(scale_on_stream_v2, run(frame, 2));
TYPED_HANDLER(scale_on_stream_v3, run(frame, 3));
