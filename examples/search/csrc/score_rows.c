/* The similarity of each row to a query: the cosine of the angle between the weighted vectors. */
#include <math.h>

#include <tenon/xla_handler.h>
#include <tenon/xla_mark.h>

/* features: f32[n, d]; weights and query: f32[d]; scores: f32[n], 0 if the vectors have no common feature. Sums are
 * computed in double precision. */
TN_XLA_EXPORT tn_xla_error_t *score_rows(tn_xla_call_frame_t *frame) {
  static const tn_xla_signature_t signature = {.minor = 1, .stage = TN_XLA_EXECUTE, .args = 3, .rets = 1};
  tn_xla_reader_t in;
  if (!tn_xla_open(&in, frame, &signature)) return in.error;
  const tn_xla_buffer_t *features = tn_xla_arg(&in, 0, TN_XLA_F32, 2);
  const tn_xla_buffer_t *weights = tn_xla_arg(&in, 1, TN_XLA_F32, 1);
  const tn_xla_buffer_t *query = tn_xla_arg(&in, 2, TN_XLA_F32, 1);
  tn_xla_buffer_t *scores = tn_xla_ret(&in, 0, TN_XLA_F32, 1);
  if (!tn_xla_complete(&in)) return in.error;
  const int64_t rows = features->dims[0], width = features->dims[1];
  if (weights->dims[0] != width || query->dims[0] != width || scores->dims[0] != rows)
    return tn_xla_fail(frame, TN_XLA_INVALID_ARGUMENT, "score_rows must have %lld weights, as many features of the query, and %lld scores",
                       (long long)width, (long long)rows);
  const float *w = weights->data, *q = query->data;
  double query_square = 0;
  for (int64_t i = 0; i < width; i++) query_square += (double)w[i] * w[i] * q[i] * q[i];
  for (int64_t row = 0; row < rows; row++) {
    const float *x = (const float *)features->data + row * width;
    double product = 0, square = 0;
    for (int64_t i = 0; i < width; i++) {
      const double weighted = (double)w[i] * w[i] * x[i];
      product += weighted * q[i];
      square += weighted * x[i];
    }
    ((float *)scores->data)[row] = product == 0 ? 0 : (float)(product / sqrt(square * query_square));
  }
  return NULL;
}
TN_XLA_MARK_TYPED(score_rows);
