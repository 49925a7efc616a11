/* A[i] = B[i % 128] + C[i], the example of XLA's introduction to custom calls, in the oldest and the newest
 * convention. */
#include <tenon/signature.h>
#include <tenon/xla_custom_call.h>
#include <tenon/xla_handler.h>
#include <tenon/xla_mark.h>

static void add(float *a, const float *b, int64_t period, const float *c, int64_t count) {
  for (int64_t i = 0; i < count; i++) a[i] = b[i % period] + c[i];
}

/* Untyped, ORIGINAL on the Host. An untyped function cannot check its operands. */
TN_SIGNATURE(do_custom_call, "(b: f32[128], c: f32[2048]) -> (a: f32[2048]) -- a[i] = b[i % 128] + c[i]");
TN_XLA_EXPORT void do_custom_call(void *out, const void **in) { add(out, in[0], 128, in[1], 2048); }
TN_XLA_MARK_HOST(do_custom_call);

TN_SIGNATURE(broadcast_add, "(b: f32[m], c: f32[n]) -> (a: f32[n]) -- a[i] = b[i % m] + c[i]");

TN_XLA_EXPORT tn_xla_error_t *broadcast_add(tn_xla_call_frame_t *frame) {
  static const tn_xla_signature_t signature = {.minor = 3, .stage = TN_XLA_EXECUTE, .args = 2, .rets = 1, .attrs = 0};
  tn_xla_reader_t in;
  if (!tn_xla_open(&in, frame, &signature)) return in.error;
  const tn_xla_buffer_t *b = tn_xla_arg(&in, 0, TN_XLA_F32, 1);
  const tn_xla_buffer_t *c = tn_xla_arg(&in, 1, TN_XLA_F32, 1);
  tn_xla_buffer_t *a = tn_xla_ret(&in, 0, TN_XLA_F32, 1);
  if (!tn_xla_complete(&in)) return in.error;
  if (!tn_xla_same_shape(a, c) || (b->dims[0] == 0 && c->dims[0] != 0))
    return tn_xla_fail(frame, TN_XLA_INVALID_ARGUMENT, "a must be as long as c, and b must not be empty");
  add(a->data, b->data, b->dims[0], c->data, c->dims[0]);
  return NULL;
}

/* Untyped, with a tuple as its result: f32[2] and f32[3] from f32[5]. `out` is an array of pointers to the two
 * leaves. */
TN_XLA_EXPORT void split(void *out, const void **in) {
  float *const *parts = out;
  memcpy(parts[0], in[0], 2 * sizeof(float));
  memcpy(parts[1], (const float *)in[0] + 2, 3 * sizeof(float));
}
TN_XLA_MARK_HOST(split);
