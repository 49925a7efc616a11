/* Kernels that fail or break rules on purpose. */
#include <tenon/xla_handler.h>
#include <tenon/xla_mark.h>

/* Fails with the attributes code (s32) and message (string). */
TN_XLA_EXPORT tn_xla_error_t *fail_with(tn_xla_call_frame_t *frame) {
  static const tn_xla_signature_t signature = {
      .minor = 1, .stage = TN_XLA_EXECUTE, .args = TN_XLA_ANY, .rets = TN_XLA_ANY, .attrs = 2};
  tn_xla_reader_t in;
  if (!tn_xla_open(&in, frame, &signature)) return in.error;
  const int32_t code = tn_xla_attr_s32(&in, NULL, "code");
  const tn_xla_span_t message = tn_xla_attr_string(&in, NULL, "message");
  if (!tn_xla_complete(&in)) return in.error;
  return tn_xla_fail(frame, code, "%.*s", (int)message.len, message.ptr);
}
TN_XLA_MARK_TYPED(fail_with);

/* Fills its result u8[n] with 0x11. Then writes 0xee out of bounds, to `before` bytes in front of it and `after` bytes
 * behind it (attributes, s64). */
TN_XLA_EXPORT tn_xla_error_t *write_out_of_bounds(tn_xla_call_frame_t *frame) {
  static const tn_xla_signature_t signature = {.minor = 1, .stage = TN_XLA_EXECUTE, .args = 0, .rets = 1, .attrs = 2};
  tn_xla_reader_t in;
  if (!tn_xla_open(&in, frame, &signature)) return in.error;
  tn_xla_buffer_t *out = tn_xla_ret(&in, 0, TN_XLA_U8, 1);
  const int64_t after = tn_xla_attr_s64(&in, NULL, "after");
  const int64_t before = tn_xla_attr_s64(&in, NULL, "before");
  if (!tn_xla_complete(&in)) return in.error;
  volatile uint8_t *data = out->data;
  for (int64_t i = -before; i < out->dims[0] + after; i++) data[i] = i < 0 || i >= out->dims[0] ? 0xee : 0x11;
  return NULL;
}
TN_XLA_MARK_TYPED(write_out_of_bounds);

/* y = 2 * x, both f32[n]. Answers the metadata query as version 0.5, which does not exist yet. */
TN_XLA_EXPORT tn_xla_error_t *twice_v5(tn_xla_call_frame_t *frame) {
  static const tn_xla_signature_t signature = {.minor = 5, .stage = TN_XLA_EXECUTE, .args = 1, .rets = 1, .attrs = 0};
  tn_xla_reader_t in;
  if (!tn_xla_open(&in, frame, &signature)) return in.error;
  const tn_xla_buffer_t *x = tn_xla_arg(&in, 0, TN_XLA_F32, 1);
  tn_xla_buffer_t *y = tn_xla_ret(&in, 0, TN_XLA_F32, 1);
  if (!tn_xla_complete(&in)) return in.error;
  if (!tn_xla_same_shape(x, y)) return tn_xla_fail(frame, TN_XLA_INVALID_ARGUMENT, "y must have the shape of x");
  for (int64_t i = 0; i < x->dims[0]; i++) ((float *)y->data)[i] = 2 * ((const float *)x->data)[i];
  return NULL;
}
TN_XLA_MARK_TYPED(twice_v5);

/* Ignores the metadata query, like a function that is not a handler. */
TN_XLA_EXPORT tn_xla_error_t *silent(tn_xla_call_frame_t *frame) {
  (void)frame;
  return NULL;
}
TN_XLA_MARK_TYPED(silent);

/* Answers the metadata query with an error, like a handler whose types are not registered yet. */
TN_XLA_EXPORT tn_xla_error_t *not_ready(tn_xla_call_frame_t *frame) {
  return tn_xla_fail(frame, TN_XLA_FAILED_PRECONDITION, "types must be registered before their handlers");
}
TN_XLA_MARK_TYPED(not_ready);

/* Gets the stream of a device. A call on the Host does not have one. */
TN_XLA_EXPORT tn_xla_error_t *needs_stream(tn_xla_call_frame_t *frame) {
  static const tn_xla_signature_t signature = {.minor = 3, .stage = TN_XLA_EXECUTE, .args = 0, .rets = 0, .attrs = 0};
  tn_xla_reader_t in;
  if (!tn_xla_open(&in, frame, &signature)) return in.error;
  tn_xla_stream_get_args_t get = {sizeof get, NULL, frame->ctx, NULL};
  return frame->api->stream_get(&get);
}
TN_XLA_MARK_TYPED(needs_stream);

/* A handler of the prepare stage, without any effect. */
TN_XLA_EXPORT tn_xla_error_t *prepare_nothing(tn_xla_call_frame_t *frame) {
  static const tn_xla_signature_t signature = {
      .minor = 3, .stage = TN_XLA_PREPARE, .args = TN_XLA_ANY, .rets = TN_XLA_ANY, .attrs = TN_XLA_ANY};
  tn_xla_reader_t in;
  return tn_xla_open(&in, frame, &signature) ? NULL : in.error;
}
TN_XLA_MARK_TYPED(prepare_nothing);

static tn_xla_error_t *answer_version(tn_xla_call_frame_t *frame, int32_t major, int32_t minor) {
  if (frame->extension_start == NULL) return tn_xla_fail(frame, TN_XLA_INTERNAL, "the handler was called");
  tn_xla_answer_metadata(frame, minor, 0);
  ((tn_xla_metadata_extension_t *)(void *)frame->extension_start)->metadata->api_version.major_version = major;
  return NULL;
}

/* Answer the metadata query with versions that no runtime supports. */
TN_XLA_EXPORT tn_xla_error_t *version_0_0(tn_xla_call_frame_t *frame) { return answer_version(frame, 0, 0); }
TN_XLA_MARK_TYPED(version_0_0);
TN_XLA_EXPORT tn_xla_error_t *version_negative(tn_xla_call_frame_t *frame) { return answer_version(frame, -1, 4); }
TN_XLA_MARK_TYPED(version_negative);
