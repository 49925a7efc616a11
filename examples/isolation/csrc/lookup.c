/* An embedding table: one row for each token. */
#include <string.h>

#include <tenon/kernel.h>

/* The kernel has a defect that many kernels of this kind have: it trusts the tokens. */
TN_KERNEL(lookup,
          "(table: f32[words, width], tokens: s32[n]) -> (rows: f32[n, width]) "
          "-- The row of each token. Tokens must be below the number of words, which is not checked.") {
  const tn_xla_buffer_t *table = tn_xla_arg(in, 0, TN_XLA_F32, 2);
  const tn_xla_buffer_t *tokens = tn_xla_arg(in, 1, TN_XLA_S32, 1);
  tn_xla_buffer_t *rows = tn_xla_ret(in, 0, TN_XLA_F32, 2);
  if (!tn_xla_complete(in)) return;
  const int64_t width = table->dims[1];
  const float *const from = table->data;
  float *const to = rows->data;
  for (int64_t i = 0; i < tokens->dims[0]; i++) {
    const int64_t token = ((const int32_t *)tokens->data)[i];
    memcpy(to + i * width, from + token * width, (size_t)width * sizeof *to);
  }
}
