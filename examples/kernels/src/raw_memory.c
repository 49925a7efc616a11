/* Kernels that see the order of elements in memory, which frames do not describe. */
#include <math.h>
#include <tenon/kernel.h>

#include "typed.h"

/* y has the bytes of x in the order of memory, both f32. The second result, s64[4], receives the addresses of x and y,
 * and the first two sizes of x. */
static tn_xla_error_t *copy(tn_xla_call_frame_t *frame) {
  static const tn_xla_signature_t signature = {.minor = 1, .stage = TN_XLA_EXECUTE, .args = 1, .rets = 2, .attrs = 0};
  tn_xla_reader_t in;
  if (!tn_xla_open(&in, frame, &signature)) return in.error;
  const tn_xla_buffer_t *x = tn_xla_arg(&in, 0, TN_XLA_F32, TN_XLA_ANY);
  tn_xla_buffer_t *y = tn_xla_ret(&in, 0, TN_XLA_F32, TN_XLA_ANY);
  tn_xla_buffer_t *facts = tn_xla_ret(&in, 1, TN_XLA_S64, 1);
  if (!tn_xla_complete(&in)) return in.error;
  if (tn_xla_element_count(x) != tn_xla_element_count(y) || facts->dims[0] != 4 || x->rank < 2)
    return tn_xla_fail(frame, TN_XLA_INVALID_ARGUMENT, "x and y must have as many elements, and the facts four");
  memcpy(y->data, x->data, sizeof(float) * (size_t)tn_xla_element_count(x));
  const int64_t values[] = {(int64_t)(intptr_t)x->data, (int64_t)(intptr_t)y->data, x->dims[0], x->dims[1]};
  memcpy(facts->data, values, sizeof values);
  return NULL;
}
TYPED_HANDLER(raw_memory, copy(frame));

/* In column-major memory, as in LAPACK. The upper triangle of l is 0. */
TN_KERNEL(cholesky, "(a: f64[n, n] @cm) -> (l: f64[n, n] @cm) -- The lower Cholesky factor of a matrix.") {
  const tn_xla_buffer_t *a = tn_xla_arg(in, 0, TN_XLA_F64, 2), *l = tn_xla_ret_like(in, 0, a);
  if (!tn_xla_complete(in)) return;
  const int64_t n = a->dims[0];
  const double *from = a->data;
  double *to = l->data;
  for (int64_t column = 0; column < n; column++) {
    for (int64_t row = 0; row < n; row++) {
      double sum = row < column ? 0 : from[row + column * n];
      for (int64_t k = 0; k < column && row >= column; k++) sum -= to[row + k * n] * to[column + k * n];
      to[row + column * n] = row < column ? 0 : row == column ? sqrt(sum) : sum / to[column + column * n];
    }
  }
}
