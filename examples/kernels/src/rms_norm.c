/* Root-mean-square normalisation along the last axis: y = x / sqrt(mean(x * x) + eps). */
#include <math.h>

#include <tenon/signature.h>
#include <tenon/xla_handler.h>
#include <tenon/xla_mark.h>

TN_SIGNATURE(rms_norm,
             "(x: f32[..., d]) -> (y: f32[..., d]); eps: f32 "
             "-- Root-mean-square normalisation along the last axis: y = x / sqrt(mean(x * x) + eps).");

/* Sums are taken in double precision. */
TN_XLA_EXPORT tn_xla_error_t *rms_norm(tn_xla_call_frame_t *frame) {
  static const tn_xla_signature_t signature = {.minor = 1, .stage = TN_XLA_EXECUTE, .args = 1, .rets = 1, .attrs = 1};
  tn_xla_reader_t in;
  if (!tn_xla_open(&in, frame, &signature)) return in.error;
  const tn_xla_buffer_t *x = tn_xla_arg(&in, 0, TN_XLA_F32, TN_XLA_ANY);
  tn_xla_buffer_t *y = tn_xla_ret(&in, 0, TN_XLA_F32, TN_XLA_ANY);
  const float eps = tn_xla_attr_f32(&in, NULL, "eps");
  if (!tn_xla_complete(&in)) return in.error;
  if (x->rank == 0 || !tn_xla_same_shape(x, y))
    return tn_xla_fail(frame, TN_XLA_INVALID_ARGUMENT,
                       "rms_norm takes x of rank 1 or more and gives y of the same shape, got ranks %lld and %lld",
                       (long long)x->rank, (long long)y->rank);
  const int64_t width = x->dims[x->rank - 1];
  const int64_t rows = width == 0 ? 0 : tn_xla_element_count(x) / width;
  for (int64_t row = 0; row < rows; row++) {
    const float *from = (const float *)x->data + row * width;
    float *to = (float *)y->data + row * width;
    double sum = 0;
    for (int64_t i = 0; i < width; i++) sum += (double)from[i] * from[i];
    const double scale = 1 / sqrt(sum / (double)width + eps);
    for (int64_t i = 0; i < width; i++) to[i] = (float)(from[i] * scale);
  }
  return NULL;
}
