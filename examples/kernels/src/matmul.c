/* The product of batches of matrices, with an optional bias: one handler for two element types. */
#include <tenon/kernel.h>

typedef struct {
  const void *a;
  const void *b;
  const void *bias;
  void *c;
  int64_t m, k, n;
} matmul_t;

#define MULTIPLY(type)                                                                    \
  static void multiply_##type(const matmul_t *in, int64_t batch) {                        \
    const type *a = (const type *)in->a + batch * in->m * in->k;                          \
    const type *b = (const type *)in->b + batch * in->k * in->n;                          \
    type *c = (type *)in->c + batch * in->m * in->n;                                      \
    for (int64_t row = 0; row < in->m; row++) {                                           \
      for (int64_t column = 0; column < in->n; column++) {                                \
        type sum = in->bias == NULL ? 0 : ((const type *)in->bias)[column];               \
        for (int64_t i = 0; i < in->k; i++) sum += a[row * in->k + i] * b[i * in->n + column]; \
        c[row * in->n + column] = sum;                                                    \
      }                                                                                   \
    }                                                                                     \
  }
MULTIPLY(float)
MULTIPLY(double)

TN_KERNEL(matmul,
          "(a: T[..., m, k], b: T[..., k, n], bias?: T[n]) -> (c: T[..., m, n]); where T in f32|f64 "
          "-- The matrix product of a and b, plus bias.") {
  const tn_xla_buffer_t *a = tn_xla_arg(in, 0, TN_XLA_ANY, TN_XLA_ANY);
  const tn_xla_buffer_t *b = tn_xla_arg(in, 1, a == NULL ? TN_XLA_ANY : a->dtype, a == NULL ? TN_XLA_ANY : a->rank);
  const int has_bias = in->frame->args.size > 2;
  const tn_xla_buffer_t *bias = has_bias ? tn_xla_arg(in, 2, a == NULL ? TN_XLA_ANY : a->dtype, 1) : NULL;
  tn_xla_buffer_t *c = tn_xla_ret(in, 0, a == NULL ? TN_XLA_ANY : a->dtype, a == NULL ? TN_XLA_ANY : a->rank);
  if (!tn_xla_complete(in)) return;
  const int64_t rank = a->rank;
  int fits = (a->dtype == TN_XLA_F32 || a->dtype == TN_XLA_F64) && rank >= 2;
  int64_t batches = 1;
  for (int64_t axis = 0; fits && axis < rank - 2; axis++) {
    fits = a->dims[axis] == b->dims[axis] && a->dims[axis] == c->dims[axis];
    batches *= a->dims[axis];
  }
  if (!fits || a->dims[rank - 1] != b->dims[rank - 2] || c->dims[rank - 2] != a->dims[rank - 2] ||
      c->dims[rank - 1] != b->dims[rank - 1] || (has_bias && bias->dims[0] != b->dims[rank - 1])) {
    in->error = tn_xla_fail(in->frame, TN_XLA_INVALID_ARGUMENT, "the shapes of a, b, bias and c do not fit together");
    return;
  }
  const matmul_t call = {a->data,           b->data,           has_bias ? bias->data : NULL, c->data,
                         a->dims[rank - 2], a->dims[rank - 1], b->dims[rank - 1]};
  for (int64_t batch = 0; batch < batches; batch++) {
    if (a->dtype == TN_XLA_F32)
      multiply_float(&call, batch);
    else
      multiply_double(&call, batch);
  }
}
