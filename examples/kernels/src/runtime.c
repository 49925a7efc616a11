/* Kernels that import functions of their runtime, which the process must export before it opens this library. */
#include <tenon/xla_custom_call.h>
#include <tenon/xla_handler.h>
#include <tenon/xla_mark.h>

/* y = -x, both f32[n]. When the library is loaded, it registers this handler as "negate" on the Host. */
static tn_xla_error_t *negate(tn_xla_call_frame_t *frame) {
  static const tn_xla_signature_t signature = {.minor = 3, .stage = TN_XLA_EXECUTE, .args = 1, .rets = 1, .attrs = 0};
  tn_xla_reader_t in;
  if (!tn_xla_open(&in, frame, &signature)) return in.error;
  const tn_xla_buffer_t *x = tn_xla_arg(&in, 0, TN_XLA_F32, 1);
  tn_xla_buffer_t *y = tn_xla_ret(&in, 0, TN_XLA_F32, 1);
  if (!tn_xla_complete(&in)) return in.error;
  if (!tn_xla_same_shape(x, y)) return tn_xla_fail(frame, TN_XLA_INVALID_ARGUMENT, "y must have the shape of x");
  for (int64_t i = 0; i < x->dims[0]; i++) ((float *)y->data)[i] = -((const float *)x->data)[i];
  return NULL;
}

__attribute__((constructor)) static void register_negate(void) {
  const tn_xla_api_t *api = XLA_FFI_GetApi();
  tn_xla_handler_register_args_t args = {
      TN_XLA_SIZE_HANDLER_REGISTER, NULL, {"negate", 6}, {"Host", 4}, {.execute = negate}, 0};
  tn_xla_error_t *error = api->handler_register(&args);
  if (error == NULL) return;
  tn_xla_error_get_message_args_t message = {sizeof message, NULL, error, NULL};
  api->error_get_message(&message);
  fprintf(stderr, "cannot register negate: %s\n", message.message);
  tn_xla_error_destroy_args_t destroy = {sizeof destroy, NULL, error};
  api->error_destroy(&destroy);
}

/* Untyped, UNIFIED on the Host: s32[] from two s32[]. `opaque` is the operation, "add" or "divide". */
TN_XLA_EXPORT void integer_operation(void *out, const void **in, const char *opaque, size_t opaque_length,
                                     XlaCustomCallStatus *status) {
  const int32_t a = *(const int32_t *)in[0], b = *(const int32_t *)in[1];
  static const char by_zero[] = "division by zero", unknown[] = "opaque must be add or divide";
  if (opaque_length == 3 && memcmp(opaque, "add", 3) == 0) {
    *(int32_t *)out = (int32_t)((uint32_t)a + (uint32_t)b);
  } else if (opaque_length != 6 || memcmp(opaque, "divide", 6) != 0) {
    XlaCustomCallStatusSetFailure(status, unknown, sizeof unknown - 1);
  } else if (b == 0 || (a == INT32_MIN && b == -1)) {
    XlaCustomCallStatusSetFailure(status, by_zero, sizeof by_zero - 1);
  } else {
    *(int32_t *)out = a / b;
  }
}
TN_XLA_MARK_HOST_UNIFIED(integer_operation);

/* Returns the minor version of the table that the runtime offers to libraries that register themselves. */
TN_XLA_EXPORT int32_t offered_minor(void) { return XLA_FFI_GetApi()->api_version.minor_version; }
