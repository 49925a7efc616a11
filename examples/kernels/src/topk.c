/* The k largest elements along the last axis, in descending order, with their indices: two results, and a size that is
 * the value of an attribute. */
#include <tenon/kernel.h>

TN_KERNEL(topk,
          "(x: f32[..., n]) -> (values: f32[..., k], indices: s32[..., k]); k: s64; where 1 <= k, k <= n "
          "-- The k largest elements along the last axis, in descending order, and their indices.") {
  const tn_xla_buffer_t *x = tn_xla_arg(in, 0, TN_XLA_F32, TN_XLA_ANY);
  tn_xla_buffer_t *values = tn_xla_ret(in, 0, TN_XLA_F32, TN_XLA_ANY);
  tn_xla_buffer_t *indices = tn_xla_ret(in, 1, TN_XLA_S32, TN_XLA_ANY);
  const int64_t k = tn_xla_attr_s64(in, NULL, "k");
  if (!tn_xla_complete(in)) return;
  const int64_t n = tn_xla_last_size(x);
  const int64_t rows = n == 0 ? 0 : tn_xla_element_count(x) / n;
  if (k < 1 || k > n || tn_xla_element_count(values) != rows * k || tn_xla_element_count(indices) != rows * k) {
    in->error = tn_xla_fail(in->frame, TN_XLA_INVALID_ARGUMENT, "the results must have k elements for each row of x");
    return;
  }
  for (int64_t row = 0; row < rows; row++) {
    const float *from = (const float *)x->data + row * n;
    float *value = (float *)values->data + row * k;
    int32_t *index = (int32_t *)indices->data + row * k;
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++) {
      if (kept == k && !(from[i] > value[k - 1])) continue;
      int64_t at = kept < k ? kept++ : k - 1;
      for (; at > 0 && from[i] > value[at - 1]; at--) {
        value[at] = value[at - 1];
        index[at] = index[at - 1];
      }
      value[at] = from[i];
      index[at] = (int32_t)i;
    }
  }
}
