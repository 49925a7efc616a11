/* Operations on each element: arithmetic with broadcasting, activations, softmax. */
#include "cancel.h"
#include "operations.h"

/* NaN wins in MAXIMUM and MINIMUM. The compiler moves the choices of the first four out of loops. */
static inline double combine(uint32_t operation, double a, double b) {
  if (operation == TN_NN_ADD) return a + b;
  if (operation == TN_NN_SUB) return a - b;
  if (operation == TN_NN_MUL) return a * b;
  if (operation == TN_NN_DIV) return a / b;
  switch (operation) {
    case TN_NN_MAXIMUM:
      return a >= b || a != a ? a : b;
    case TN_NN_MINIMUM:
      return a <= b || a != a ? a : b;
    case TN_NN_PRELU:
      return a < 0 ? a * b : a;
    case TN_NN_EQUAL:
      return a == b;
    case TN_NN_NOT_EQUAL:
      return a != b;
    case TN_NN_GREATER:
      return a > b;
    case TN_NN_GREATER_EQUAL:
      return a >= b;
    case TN_NN_LESS:
      return a < b;
    case TN_NN_LESS_EQUAL:
      return a <= b;
    case TN_NN_LOGICAL_AND:
      return a != 0 && b != 0;
    default: /* LOGICAL_OR */
      return a != 0 || b != 0;
  }
}

static int is_arithmetic(uint32_t operation) {
  return operation == TN_NN_ADD || operation == TN_NN_SUB || operation == TN_NN_MUL || operation == TN_NN_DIV;
}

/* Integers wrap around, and quotients are rounded down. Returns 0 for a division by 0. */
static int combine_whole(uint32_t operation, int32_t a, int32_t b, int32_t *result) {
  int64_t wide = 0;
  if (operation == TN_NN_DIV && b == 0) return 0;
  if (operation == TN_NN_ADD) wide = (int64_t)a + b;
  if (operation == TN_NN_SUB) wide = (int64_t)a - b;
  if (operation == TN_NN_MUL) wide = (int64_t)a * b;
  if (operation == TN_NN_DIV) wide = (int64_t)a / b - ((int64_t)a % b != 0 && (a < 0) != (b < 0));
  *result = (int32_t)(uint32_t)(uint64_t)wide;
  return 1;
}

/* The stride of an input for each axis of the output, which is 0 along a repeated axis. */
static void broadcast_strides(const tn_nn_tensor_t *input, const tn_nn_tensor_t *output, uint64_t strides[TN_NN_RANK]) {
  uint32_t missing = output->rank - input->rank;
  uint64_t stride = 1;
  for (uint32_t axis = output->rank; axis-- > 0;) {
    uint32_t size = axis < missing ? 1 : input->dimensions[axis - missing];
    strides[axis] = size == 1 ? 0 : stride;
    stride *= size;
  }
}

static int32_t broadcast(const tn_nn__call_t *call, tn_nn__bounds_t bounds) {
  const tn_nn_tensor_t *a = tn_nn__input(call, 0), *b = tn_nn__input(call, 1), *output = tn_nn__output(call);
  uint64_t a_strides[TN_NN_RANK], b_strides[TN_NN_RANK];
  uint32_t position[TN_NN_RANK] = {0};
  broadcast_strides(a, output, a_strides);
  broadcast_strides(b, output, b_strides);
  /* Operands of one shape are one row. The steps of at_a and at_b are those along the last axis. */
  const int is_same = a->count == output->count && b->count == output->count;
  const uint32_t last = output->rank - 1;
  const uint64_t width = is_same ? output->count : output->dimensions[last];
  const uint64_t step_a = is_same ? 1 : a_strides[last], step_b = is_same ? 1 : b_strides[last];
  uint64_t at_a = 0, at_b = 0, column = 0, done = 0;
  int is_plain = output->type != TN_NN_INT32 && output->type != TN_NN_BOOL8;
  int wraps = output->type == TN_NN_INT32 && is_arithmetic(call->step->operation);
  for (uint64_t i = 0; i < output->count;) {
    const uint64_t count = width - column < TN_NN__BLOCK ? width - column : TN_NN__BLOCK;
    if (tn_nn__ends_after(&done, count)) return TN_NN_CANCELLED;
    for (const uint64_t end = i + count; i < end; i++, at_a += step_a, at_b += step_b) {
      if (wraps) {
        const int32_t *whole_a = a->data, *whole_b = b->data;
        if (!combine_whole(call->step->operation, whole_a[at_a], whole_b[at_b], (int32_t *)output->data + i))
          return TN_NN_DIVIDED_BY_ZERO;
      } else {
        double value = combine(call->step->operation, tn_nn__load(a, at_a), tn_nn__load(b, at_b));
        if (is_plain)
          tn_nn__store(output, i, tn_nn__bound(value, bounds));
        else
          tn_nn__store_any(output, i, value);
      }
    }
    column += count;
    if (is_same || column < width) continue;
    column = 0;
    at_a -= step_a * width;
    at_b -= step_b * width;
    for (uint32_t axis = last; axis-- > 0;) {
      at_a += a_strides[axis];
      at_b += b_strides[axis];
      if (++position[axis] < output->dimensions[axis]) break;
      at_a -= a_strides[axis] * output->dimensions[axis];
      at_b -= b_strides[axis] * output->dimensions[axis];
      position[axis] = 0;
    }
  }
  return TN_NN_OK;
}

static inline float bound_float(float value, tn_nn__bounds_t bounds) {
  return value < bounds.low ? bounds.low : value > bounds.high ? bounds.high : value;
}

#define FLOAT_LOOP(expression)                                                    \
  for (uint64_t i = 0; i < count; i++) result[i] = bound_float(expression, bounds)

/* ADD, SUB, MUL, DIV, MAXIMUM, MINIMUM, PRELU, comparisons, LOGICAL_AND and LOGICAL_OR: two inputs of one type, whose
 * shapes broadcast against each other. */
static int32_t binary(const tn_nn__call_t *call, const tn_nn_tensor_t *input, const tn_nn_tensor_t *output) {
  const tn_nn_tensor_t *right = tn_nn__input(call, 1);
  tn_nn__bounds_t bounds = tn_nn__bounds(call->step->activation);
  const uint32_t operation = call->step->operation;
  if (output->type != TN_NN_FLOAT32 || input->count != output->count || right->count != output->count ||
      !(is_arithmetic(operation) || operation == TN_NN_MAXIMUM || operation == TN_NN_MINIMUM))
    return broadcast(call, bounds);
  const float *a = input->data, *b = right->data;
  float *result = output->data;
  uint64_t count = output->count;
  if (operation == TN_NN_ADD) FLOAT_LOOP(a[i] + b[i]);
  if (operation == TN_NN_SUB) FLOAT_LOOP(a[i] - b[i]);
  if (operation == TN_NN_MUL) FLOAT_LOOP(a[i] * b[i]);
  if (operation == TN_NN_DIV) FLOAT_LOOP(a[i] / b[i]);
  if (operation == TN_NN_MAXIMUM) FLOAT_LOOP(a[i] >= b[i] || a[i] != a[i] ? a[i] : b[i]);
  if (operation == TN_NN_MINIMUM) FLOAT_LOOP(a[i] <= b[i] || a[i] != a[i] ? a[i] : b[i]);
  return TN_NN_OK;
}

int32_t tn_nn__binary(const tn_nn__call_t *call, const tn_nn_tensor_t *input, const tn_nn_tensor_t *output) {
  (void)input, (void)output;
  return tn_nn__run_blocks(call, binary);
}

static void bound_all(const tn_nn_tensor_t *input, const tn_nn_tensor_t *output, tn_nn__bounds_t bounds) {
  const uint64_t count = output->count;
  if (output->type == TN_NN_FLOAT32) {
    const float *from = input->data;
    float *result = output->data;
    FLOAT_LOOP(from[i]);
    return;
  }
  for (uint64_t i = 0; i < count; i++) tn_nn__store(output, i, tn_nn__bound(tn_nn__load(input, i), bounds));
}

/* ABS and NEG of the least integer wrap around. */
static void apply_whole(uint32_t operation, const int32_t *from, int32_t *to, uint64_t count) {
  for (uint64_t i = 0; i < count; i++)
    to[i] = operation == TN_NN_NEG || from[i] < 0 ? (int32_t)(0 - (uint32_t)from[i]) : from[i];
}

/* Stores a function of each element, and returns. A loop for each function keeps the choice out of the loop. */
#define EACH(expression)                                                                          \
  for (uint64_t i = 0; is_float && i < output->count; i++) {                                     \
    double value = (double)((const float *)from)[i];                                              \
    ((float *)to)[i] = (float)(expression);                                                       \
  }                                                                                               \
  for (uint64_t i = 0; !is_float && i < output->count; i++) {                                    \
    double value = tn_nn__load(input, i);                                                         \
    tn_nn__store(output, i, expression);                                                          \
  }                                                                                               \
  return TN_NN_OK

static int32_t unary(const tn_nn__call_t *call, const tn_nn_tensor_t *input, const tn_nn_tensor_t *output);

/* Elements of 8 bits: computes the result of each of the 256 values once. */
static int32_t look_up(const tn_nn__call_t *call, const tn_nn_tensor_t *input, const tn_nn_tensor_t *output) {
  uint8_t values[256], results[256];
  for (uint32_t i = 0; i < 256; i++) values[i] = (uint8_t)i;
  tn_nn_tensor_t all = *input, each = *output;
  all.data = values;
  each.data = results;
  all.count = each.count = 256;
  int32_t outcome = unary(call, &all, &each);
  const uint8_t *from = input->data;
  uint8_t *to = output->data;
  for (uint64_t i = 0, count = output->count; i < count; i++) to[i] = results[from[i]];
  return outcome;
}

/* RELU, RELU1, RELU6, TANH, LOGISTIC, ABS, NEG, EXP, SQRT, RSQRT, HARD_SWISH, LOGICAL_NOT. */
static int32_t unary(const tn_nn__call_t *call, const tn_nn_tensor_t *input, const tn_nn_tensor_t *output) {
  const uint32_t operation = call->step->operation;
  if (output->type == TN_NN_INT32) {
    apply_whole(operation, input->data, output->data, output->count);
    return TN_NN_OK;
  }
  if (output->count > 256 && tn_nn__element_size(input) == 1 && tn_nn__element_size(output) == 1)
    return look_up(call, input, output);
  const int is_float = output->type == TN_NN_FLOAT32;
  const void *from = input->data;
  void *to = output->data;
  switch (operation) {
    case TN_NN_TANH:
      EACH(tanh(value));
    case TN_NN_LOGISTIC:
      EACH(1 / (1 + (double)expf((float)-value)));
    case TN_NN_ABS:
      EACH(fabs(value));
    case TN_NN_NEG:
      EACH(-value);
    case TN_NN_EXP:
      EACH(exp(value));
    case TN_NN_SQRT:
      EACH(sqrt(value));
    case TN_NN_RSQRT:
      EACH(1 / sqrt(value));
    case TN_NN_HARD_SWISH:
      EACH(value * (tn_nn__bound(value + 3, (tn_nn__bounds_t){0, 6}) / 6));
    case TN_NN_LOGICAL_NOT:
      for (uint64_t i = 0; i < output->count; i++) tn_nn__store_any(output, i, tn_nn__load(input, i) == 0);
      return TN_NN_OK;
    default: /* RELU, RELU1 and RELU6 follow each other, as the activations do. */
      bound_all(input, output, tn_nn__bounds(TN_NN_BOUND_RELU + (int32_t)(operation - TN_NN_RELU)));
      return TN_NN_OK;
  }
}

int32_t tn_nn__unary(const tn_nn__call_t *call, const tn_nn_tensor_t *input, const tn_nn_tensor_t *output) {
  (void)input, (void)output;
  return tn_nn__run_blocks(call, unary);
}

/* SELECT: a condition, and two tensors of its shape. */
static int32_t choose(const tn_nn__call_t *call, const tn_nn_tensor_t *input, const tn_nn_tensor_t *output) {
  const tn_nn_tensor_t *a = tn_nn__input(call, 1), *b = tn_nn__input(call, 2);
  for (uint64_t i = 0; i < output->count; i++)
    tn_nn__store_any(output, i, tn_nn__load(((const uint8_t *)input->data)[i] != 0 ? a : b, i));
  return TN_NN_OK;
}

int32_t tn_nn__select(const tn_nn__call_t *call, const tn_nn_tensor_t *input, const tn_nn_tensor_t *output) {
  (void)input, (void)output;
  return tn_nn__run_blocks(call, choose);
}

/* SOFTMAX: numbers[0] is the axis, reals[0] beta. */
int32_t tn_nn__softmax(const tn_nn__call_t *call, const tn_nn_tensor_t *input, const tn_nn_tensor_t *output) {
  uint32_t axis = (uint32_t)call->step->numbers[0];
  double beta = (double)call->step->reals[0];
  uint64_t outer = tn_nn__extent(input, 0, axis), size = input->dimensions[axis];
  uint64_t inner = tn_nn__extent(input, axis + 1, input->rank);
  for (uint64_t line = 0, done = 0; line < outer * inner; line++) {
    if (tn_nn__ends_after(&done, size)) return TN_NN_CANCELLED;
    uint64_t first = line / inner * size * inner + line % inner;
    double largest = -(double)INFINITY, sum = 0;
    for (uint64_t i = 0; i < size; i++) {
      double value = tn_nn__load(input, first + i * inner);
      if (value > largest) largest = value;
    }
    for (uint64_t i = 0; i < size; i++)
      sum += (double)expf((float)((tn_nn__load(input, first + i * inner) - largest) * beta));
    for (uint64_t i = 0; i < size; i++) {
      double value = (double)expf((float)((tn_nn__load(input, first + i * inner) - largest) * beta));
      tn_nn__store(output, first + i * inner, value / sum);
    }
  }
  return TN_NN_OK;
}
