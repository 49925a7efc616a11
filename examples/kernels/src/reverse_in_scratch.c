/* Handlers that allocate memory from their runtime, one for each version of the ABI. */
#include "typed.h"

/* y f32[n] = x f32[n] in reverse order, through memory of the runtime with the attribute alignment (s64). The memory is
 * freed unless the attribute forget (pred) is true. */
static tn_xla_error_t *run(tn_xla_call_frame_t *frame, int32_t minor) {
  const tn_xla_signature_t signature = {.minor = minor, .stage = TN_XLA_EXECUTE, .args = 1, .rets = 1, .attrs = 2};
  tn_xla_reader_t in;
  if (!tn_xla_open(&in, frame, &signature)) return in.error;
  const tn_xla_buffer_t *x = tn_xla_arg(&in, 0, TN_XLA_F32, 1);
  tn_xla_buffer_t *y = tn_xla_ret(&in, 0, TN_XLA_F32, 1);
  const int64_t alignment = tn_xla_attr_s64(&in, NULL, "alignment");
  const int forgets = tn_xla_attr_pred(&in, NULL, "forget");
  if (!tn_xla_complete(&in)) return in.error;
  if (!tn_xla_same_shape(x, y)) return tn_xla_fail(frame, TN_XLA_INVALID_ARGUMENT, "y must have the shape of x");
  const size_t count = (size_t)x->dims[0], size = count * sizeof(float);
  tn_xla_memory_allocate_args_t args = {sizeof args, NULL, frame->ctx, size, (size_t)alignment, NULL};
  tn_xla_error_t *error = frame->api->memory_allocate(&args);
  if (error != NULL) return error;
  float *scratch = args.data;
  for (size_t i = 0; i < count; i++) scratch[i] = ((const float *)x->data)[count - 1 - i];
  if (count > 0) memcpy(y->data, scratch, size);
  if (forgets) return NULL;
  tn_xla_memory_free_args_t free_args = {sizeof free_args, NULL, frame->ctx, size, scratch};
  return frame->api->memory_free(&free_args);
}

TYPED_HANDLER(reverse_in_scratch_v1, run(frame, 1));
TYPED_HANDLER(reverse_in_scratch_v2, run(frame, 2));
TYPED_HANDLER(reverse_in_scratch_v3, run(frame, 3));
TYPED_HANDLER(reverse_in_scratch_v4, run(frame, 4));
