/* The similarity of each row to a query: the cosine of the angle between the weighted vectors. */
#include <math.h>

#include <tenon/kernel.h>

/* A score is 0 if the vectors have no common feature. Sums are computed in double precision. */
TN_KERNEL(score_rows,
          "(features: f32[n, d], weights: f32[d], query: f32[d]) -> (scores: f32[n]) "
          "-- The cosine of the angle between each row and the query, whose features are weighted.") {
  const tn_xla_buffer_t *features = tn_xla_arg(in, 0, TN_XLA_F32, 2);
  const tn_xla_buffer_t *weights = tn_xla_arg(in, 1, TN_XLA_F32, 1);
  const tn_xla_buffer_t *query = tn_xla_arg(in, 2, TN_XLA_F32, 1);
  tn_xla_buffer_t *scores = tn_xla_ret(in, 0, TN_XLA_F32, 1);
  if (!tn_xla_complete(in)) return;
  const int64_t rows = features->dims[0], width = features->dims[1];
  if (weights->dims[0] != width || query->dims[0] != width || scores->dims[0] != rows) {
    in->error = tn_xla_fail(in->frame, TN_XLA_INVALID_ARGUMENT, "the sizes of the vectors and of the scores must fit the rows");
    return;
  }
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
}
