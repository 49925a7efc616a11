/* Checks a program before its first run. The operations of a valid one stay inside the memory of its tensors. */
#include "image.h"

/* A call whose operands exist. */
typedef const tn_nn__call_t *call_t;
typedef const tn_nn_tensor_t *tensor_t;

static int is_quantized(tensor_t tensor) { return tensor->type == TN_NN_QUANT8 || tensor->type == TN_NN_QUANT8_SIGNED; }

/* Returns whether a tensor has one of the types that most operations accept. */
static int is_real(tensor_t tensor) { return tn_nn__is_float(tensor->type) || is_quantized(tensor); }

/* Returns whether a tensor has one of the types that moves and comparisons accept. */
static int is_movable(tensor_t tensor) {
  return is_real(tensor) || tensor->type == TN_NN_INT32 || tensor->type == TN_NN_BOOL8;
}

static int is_positive(float scale) { return scale > 0 && scale < INFINITY; }

static int has_sound_values(tensor_t tensor) {
  int32_t zero = tensor->zero_point;
  switch (tensor->type) {
    case TN_NN_FLOAT32:
    case TN_NN_FLOAT16:
    case TN_NN_INT32:
    case TN_NN_BOOL8:
      return 1;
    case TN_NN_QUANT8:
      return is_positive(tensor->scale) && zero >= 0 && zero <= 255;
    case TN_NN_QUANT8_SIGNED:
      return is_positive(tensor->scale) && zero >= -128 && zero <= 127;
    case TN_NN_QUANT8_SYMM:
      return is_positive(tensor->scale) && zero == 0;
    case TN_NN_QUANT8_PER_CHANNEL:
      if (tensor->scales == NULL || tensor->channel_axis >= tensor->rank || zero != 0) return 0;
      for (uint32_t i = 0; i < tensor->dimensions[tensor->channel_axis]; i++)
        if (!is_positive(tensor->scales[i])) return 0;
      return 1;
    default:
      return 0;
  }
}

static int check_tensor(tensor_t tensor) {
  if (tensor->rank > TN_NN_RANK) return 0;
  if (tensor->type != TN_NN_QUANT8_PER_CHANNEL && tensor->scales != NULL) return 0;
  uint64_t count = 1;
  for (uint32_t axis = 0; axis < tensor->rank; axis++) {
    uint32_t size = tensor->dimensions[axis];
    count *= size;
    if (size == 0 || size > INT32_MAX || count > UINT32_MAX) return 0;
  }
  return count == tensor->count && has_sound_values(tensor);
}

static int same_dimension(tensor_t a, tensor_t b, uint32_t axis) { return a->dimensions[axis] == b->dimensions[axis]; }

static int same_shape(tensor_t a, tensor_t b) {
  if (a->rank != b->rank) return 0;
  for (uint32_t axis = 0; axis < a->rank; axis++)
    if (!same_dimension(a, b, axis)) return 0;
  return 1;
}

/* Returns whether the first number of a step is an axis of a tensor. */
static int has_axis(call_t call, tensor_t tensor) {
  int32_t axis = call->step->numbers[0];
  return axis >= 0 && (uint32_t)axis < tensor->rank;
}

static int has_numbers(call_t call, uint32_t first, uint32_t count, int32_t least) {
  for (uint32_t i = first; i < first + count; i++)
    if (call->step->numbers[i] < least) return 0;
  return 1;
}

static int broadcasts_to(tensor_t input, tensor_t output) {
  if (input->rank > output->rank) return 0;
  for (uint32_t axis = 0; axis < input->rank; axis++) {
    uint32_t size = input->dimensions[axis];
    if (size != 1 && size != output->dimensions[output->rank - input->rank + axis]) return 0;
  }
  return 1;
}

static int has_inputs_that_broadcast(call_t call, tensor_t input, tensor_t output) {
  tensor_t b = tn_nn__input(call, 1);
  return input->type == b->type && broadcasts_to(input, output) && broadcasts_to(b, output);
}

static int32_t check_binary(call_t call, tensor_t input, tensor_t output) {
  int is_whole = output->type == TN_NN_INT32 && call->step->activation == TN_NN_NONE;
  return (is_whole || is_real(output)) && input->type == output->type && has_inputs_that_broadcast(call, input, output);
}

static int32_t check_comparison(call_t call, tensor_t input, tensor_t output) {
  return is_movable(input) && output->type == TN_NN_BOOL8 && has_inputs_that_broadcast(call, input, output);
}

static int32_t check_logical(call_t call, tensor_t input, tensor_t output) {
  return input->type == TN_NN_BOOL8 && check_comparison(call, input, output);
}

static int32_t check_select(call_t call, tensor_t input, tensor_t output) {
  if (input->type != TN_NN_BOOL8 || !is_movable(output) || !same_shape(input, output)) return 0;
  for (uint32_t i = 1; i < 3; i++)
    if (tn_nn__input(call, i)->type != output->type || !same_shape(tn_nn__input(call, i), output)) return 0;
  return 1;
}

static int32_t check_unary(call_t call, tensor_t input, tensor_t output) {
  (void)call;
  return is_real(input) && input->type == output->type && same_shape(input, output);
}

static int32_t check_sign(call_t call, tensor_t input, tensor_t output) {
  int is_whole = input->type == TN_NN_INT32 && output->type == TN_NN_INT32;
  return (is_whole && same_shape(input, output)) || check_unary(call, input, output);
}

static int32_t check_not(call_t call, tensor_t input, tensor_t output) {
  (void)call;
  return input->type == TN_NN_BOOL8 && output->type == TN_NN_BOOL8 && same_shape(input, output);
}

static int32_t check_softmax(call_t call, tensor_t input, tensor_t output) {
  float beta = call->step->reals[0];
  return check_unary(call, input, output) && has_axis(call, input) && is_positive(beta);
}

static int32_t check_reshape(call_t call, tensor_t input, tensor_t output) {
  (void)call;
  return input->type == output->type && input->count == output->count;
}

static int32_t check_transpose(call_t call, tensor_t input, tensor_t output) {
  if (input->type != output->type || input->rank != output->rank) return 0;
  uint32_t seen = 0;
  for (uint32_t axis = 0; axis < output->rank; axis++) {
    int32_t from = call->step->numbers[axis];
    if (from < 0 || (uint32_t)from >= input->rank || (seen >> from & 1) != 0) return 0;
    if (output->dimensions[axis] != input->dimensions[from]) return 0;
    seen |= 1u << from;
  }
  return 1;
}

static int32_t check_concatenation(call_t call, tensor_t input, tensor_t output) {
  if (call->step->input_count == 0 || !has_axis(call, output) || (!is_real(output) && output->type != TN_NN_INT32))
    return 0;
  uint32_t along = (uint32_t)call->step->numbers[0];
  uint64_t total = 0;
  for (uint32_t n = 0; n < call->step->input_count; n++) {
    input = tn_nn__input(call, n);
    if (input->type != output->type || input->rank != output->rank) return 0;
    for (uint32_t axis = 0; axis < output->rank; axis++)
      if (axis != along && !same_dimension(input, output, axis)) return 0;
    total += input->dimensions[along];
  }
  return total == output->dimensions[along];
}

static int32_t check_gather(call_t call, tensor_t input, tensor_t output) {
  tensor_t indices = tn_nn__input(call, 1);
  if (input->type != output->type || indices->type != TN_NN_INT32 || !has_axis(call, input)) return 0;
  uint32_t axis = (uint32_t)call->step->numbers[0];
  uint64_t around = tn_nn__extent(input, 0, axis) * tn_nn__extent(input, axis + 1, input->rank);
  return around <= UINT32_MAX && around * indices->count == output->count;
}

static int32_t check_argmax(call_t call, tensor_t input, tensor_t output) {
  if (output->type != TN_NN_INT32 || !has_axis(call, input) || (!is_real(input) && input->type != TN_NN_INT32))
    return 0;
  return output->count == input->count / input->dimensions[call->step->numbers[0]];
}

static int32_t check_conversion(call_t call, tensor_t input, tensor_t output) {
  int quantizes = tn_nn__is_float(input->type) && is_quantized(output);
  int is_scaled = !tn_nn__is_float(input->type) && input->type != TN_NN_INT32 && input->type != TN_NN_BOOL8;
  int dequantizes = is_scaled && tn_nn__is_float(output->type);
  return (call->step->operation == TN_NN_QUANTIZE ? quantizes : dequantizes) && same_shape(input, output);
}

static int same_type_and_rank(tensor_t input, tensor_t output) {
  return is_movable(input) && input->type == output->type && input->rank == output->rank && input->rank > 0;
}

static int32_t check_shift(call_t call, tensor_t input, tensor_t output) {
  if (!same_type_and_rank(input, output)) return 0;
  int is_slice = call->step->operation == TN_NN_SLICE;
  for (uint32_t axis = 0; axis < input->rank; axis++) {
    int64_t shift = call->step->numbers[axis], from = input->dimensions[axis], to = output->dimensions[axis];
    if (is_slice ? shift > 0 || to - shift > from : shift < 0 || from + shift > to) return 0;
  }
  return 1;
}

static int32_t check_tile(call_t call, tensor_t input, tensor_t output) {
  (void)call;
  if (!same_type_and_rank(input, output)) return 0;
  for (uint32_t axis = 0; axis < input->rank; axis++)
    if (output->dimensions[axis] % input->dimensions[axis] != 0) return 0;
  return 1;
}

static int is_castable(tensor_t tensor) {
  return tn_nn__is_float(tensor->type) || tensor->type == TN_NN_INT32 || tensor->type == TN_NN_QUANT8;
}

static int32_t check_cast(call_t call, tensor_t input, tensor_t output) {
  (void)call;
  return is_castable(input) && is_castable(output) && same_shape(input, output);
}

static int32_t check_reduction(call_t call, tensor_t input, tensor_t output) {
  uint32_t reduced = (uint32_t)call->step->numbers[0];
  int takes_booleans = call->step->operation == TN_NN_REDUCE_ALL || call->step->operation == TN_NN_REDUCE_ANY;
  if (input->type != output->type || reduced >> input->rank != 0) return 0;
  if (takes_booleans ? input->type != TN_NN_BOOL8 : !is_real(input)) return 0;
  uint64_t count = 1;
  for (uint32_t axis = 0; axis < input->rank; axis++)
    if ((reduced >> axis & 1) == 0) count *= input->dimensions[axis];
  return count == output->count;
}

static int32_t check_top_k(call_t call, tensor_t input, tensor_t output) {
  tensor_t indices = tn_nn__second_output(call);
  if (!same_type_and_rank(input, output) || indices->type != TN_NN_INT32 || !same_shape(output, indices)) return 0;
  uint32_t last = input->rank - 1;
  for (uint32_t axis = 0; axis < last; axis++)
    if (!same_dimension(input, output, axis)) return 0;
  return output->dimensions[last] <= input->dimensions[last];
}

/* Returns whether the input and the output are images of as many batches, in an order of axes that exists. */
static int has_images(call_t call, tensor_t input, tensor_t output) {
  uint32_t layout = (uint32_t)call->step->numbers[TN_NN__LAYOUT];
  return input->rank == 4 && output->rank == 4 && layout <= 1 && same_dimension(input, output, 0);
}

static int32_t check_resize(call_t call, tensor_t input, tensor_t output) {
  return is_real(input) && input->type == output->type && has_images(call, input, output) &&
         tn_nn__image(call, input).channels == tn_nn__image(call, output).channels;
}

/* Checks the types of an input, its weights, their bias and the result. The bias has one element for each channel. */
static int has_layer_types(call_t call, uint32_t channels, uint32_t channel_axis) {
  tensor_t input = tn_nn__input(call, 0), filter = tn_nn__input(call, 1), bias = tn_nn__input(call, 2);
  if (!is_real(input) || tn_nn__output(call)->type != input->type || bias->count != channels) return 0;
  if (tn_nn__is_float(input->type)) return filter->type == input->type && bias->type == input->type;
  int per_channel = filter->type == TN_NN_QUANT8_PER_CHANNEL && filter->channel_axis == channel_axis;
  return (filter->type == input->type || per_channel) && bias->type == TN_NN_INT32;
}

static int32_t check_convolution(call_t call, tensor_t input, tensor_t output) {
  tensor_t filter = tn_nn__input(call, 1);
  const uint32_t operation = call->step->operation;
  if (filter->rank != 4 || !has_images(call, input, output)) return 0;
  if (!has_numbers(call, 0, 2, 0) || !has_numbers(call, 2, operation == TN_NN_TRANSPOSE_CONV_2D ? 2 : 4, 1)) return 0;
  uint32_t depth = (uint32_t)tn_nn__image(call, input).channels;
  uint32_t channels = (uint32_t)tn_nn__image(call, output).channels;
  if (operation != TN_NN_DEPTHWISE_CONV_2D)
    return filter->dimensions[0] == channels && filter->dimensions[3] == depth && has_layer_types(call, channels, 0);
  return filter->dimensions[0] == 1 && filter->dimensions[3] == channels && channels % depth == 0 &&
         has_layer_types(call, channels, 3);
}

static int32_t check_fully_connected(call_t call, tensor_t input, tensor_t output) {
  tensor_t weights = tn_nn__input(call, 1);
  if (weights->rank != 2 || output->rank != 2 || weights->type == TN_NN_QUANT8_PER_CHANNEL) return 0;
  uint32_t units = weights->dimensions[0];
  return output->dimensions[1] == units && has_layer_types(call, units, 0) &&
         (uint64_t)output->dimensions[0] * weights->dimensions[1] == input->count;
}

static int32_t check_pool(call_t call, tensor_t input, tensor_t output) {
  return check_resize(call, input, output) && has_numbers(call, 0, 2, 0) && has_numbers(call, 2, 4, 1);
}

static const tn_nn__operation_t operations[] = {
    [TN_NN_ADD] = {tn_nn__binary, check_binary, 2, 0},
    [TN_NN_AVERAGE_POOL_2D] = {tn_nn__average_pool, check_pool, 1, 0},
    [TN_NN_CONCATENATION] = {tn_nn__concatenation, check_concatenation, 0, 0},
    [TN_NN_CONV_2D] = {tn_nn__convolution, check_convolution, 3, 0},
    [TN_NN_DEPTHWISE_CONV_2D] = {tn_nn__depthwise, check_convolution, 3, 0},
    [TN_NN_DEQUANTIZE] = {tn_nn__convert, check_conversion, 1, 0},
    [TN_NN_FULLY_CONNECTED] = {tn_nn__fully_connected, check_fully_connected, 3, 0},
    [TN_NN_LOGISTIC] = {tn_nn__unary, check_unary, 1, 0},
    [TN_NN_MAX_POOL_2D] = {tn_nn__max_pool, check_pool, 1, 0},
    [TN_NN_MUL] = {tn_nn__binary, check_binary, 2, 0},
    [TN_NN_RELU] = {tn_nn__unary, check_unary, 1, 0},
    [TN_NN_RELU1] = {tn_nn__unary, check_unary, 1, 0},
    [TN_NN_RELU6] = {tn_nn__unary, check_unary, 1, 0},
    [TN_NN_RESHAPE] = {tn_nn__copy, check_reshape, 1, 0},
    [TN_NN_RESIZE_BILINEAR] = {tn_nn__resize_bilinear, check_resize, 1, 0},
    [TN_NN_SOFTMAX] = {tn_nn__softmax, check_softmax, 1, 0},
    [TN_NN_TANH] = {tn_nn__unary, check_unary, 1, 0},
    [TN_NN_DIV] = {tn_nn__binary, check_binary, 2, 0},
    [TN_NN_MEAN] = {tn_nn__reduce, check_reduction, 1, 0},
    [TN_NN_PAD] = {tn_nn__shift, check_shift, 1, 0},
    [TN_NN_SUB] = {tn_nn__binary, check_binary, 2, 0},
    [TN_NN_TRANSPOSE] = {tn_nn__transpose, check_transpose, 1, 0},
    [TN_NN_ABS] = {tn_nn__unary, check_sign, 1, 0},
    [TN_NN_ARGMAX] = {tn_nn__argmax, check_argmax, 1, 0},
    [TN_NN_CAST] = {tn_nn__cast, check_cast, 1, 0},
    [TN_NN_EQUAL] = {tn_nn__binary, check_comparison, 2, 0},
    [TN_NN_EXP] = {tn_nn__unary, check_unary, 1, 0},
    [TN_NN_GATHER] = {tn_nn__gather, check_gather, 2, 0},
    [TN_NN_GREATER] = {tn_nn__binary, check_comparison, 2, 0},
    [TN_NN_GREATER_EQUAL] = {tn_nn__binary, check_comparison, 2, 0},
    [TN_NN_LESS] = {tn_nn__binary, check_comparison, 2, 0},
    [TN_NN_LESS_EQUAL] = {tn_nn__binary, check_comparison, 2, 0},
    [TN_NN_LOGICAL_AND] = {tn_nn__binary, check_logical, 2, 0},
    [TN_NN_LOGICAL_NOT] = {tn_nn__unary, check_not, 1, 0},
    [TN_NN_LOGICAL_OR] = {tn_nn__binary, check_logical, 2, 0},
    [TN_NN_MAXIMUM] = {tn_nn__binary, check_binary, 2, 0},
    [TN_NN_MINIMUM] = {tn_nn__binary, check_binary, 2, 0},
    [TN_NN_NEG] = {tn_nn__unary, check_sign, 1, 0},
    [TN_NN_NOT_EQUAL] = {tn_nn__binary, check_comparison, 2, 0},
    [TN_NN_PRELU] = {tn_nn__binary, check_binary, 2, 0},
    [TN_NN_QUANTIZE] = {tn_nn__convert, check_conversion, 1, 0},
    [TN_NN_REDUCE_ALL] = {tn_nn__reduce, check_reduction, 1, 0},
    [TN_NN_REDUCE_ANY] = {tn_nn__reduce, check_reduction, 1, 0},
    [TN_NN_REDUCE_MAX] = {tn_nn__reduce, check_reduction, 1, 0},
    [TN_NN_REDUCE_MIN] = {tn_nn__reduce, check_reduction, 1, 0},
    [TN_NN_REDUCE_PROD] = {tn_nn__reduce, check_reduction, 1, 0},
    [TN_NN_REDUCE_SUM] = {tn_nn__reduce, check_reduction, 1, 0},
    [TN_NN_RSQRT] = {tn_nn__unary, check_unary, 1, 0},
    [TN_NN_SELECT] = {tn_nn__select, check_select, 3, 0},
    [TN_NN_SLICE] = {tn_nn__shift, check_shift, 1, 0},
    [TN_NN_SQRT] = {tn_nn__unary, check_unary, 1, 0},
    [TN_NN_TILE] = {tn_nn__tile, check_tile, 1, 0},
    [TN_NN_TOPK_V2] = {tn_nn__top_k, check_top_k, 1, 1},
    [TN_NN_TRANSPOSE_CONV_2D] = {tn_nn__transposed_convolution, check_convolution, 3, 0},
    [TN_NN_RESIZE_NEAREST_NEIGHBOR] = {tn_nn__resize_nearest, check_resize, 1, 0},
    [TN_NN_HARD_SWISH] = {tn_nn__unary, check_unary, 1, 0},
};

const tn_nn__operation_t *tn_nn__find(uint32_t operation) {
  const int is_known = operation < sizeof operations / sizeof *operations && operations[operation].run != NULL;
  return is_known ? &operations[operation] : NULL;
}

static int check_step(const tn_nn_program_t *program, const tn_nn_step_t *step, const tn_nn__operation_t *operation) {
  if (operation->inputs != 0 && step->input_count != operation->inputs) return 0;
  uint64_t used = (uint64_t)step->input_count + 1 + operation->more_outputs;
  if (step->first_operand + used > program->operand_count) return 0;
  if (step->activation < TN_NN_NONE || step->activation > TN_NN_BOUND_RELU6) return 0;
  tn_nn__call_t call = {step, program->tensors, program->operands + step->first_operand};
  for (uint64_t i = 0; i < used; i++)
    if (call.operands[i] >= program->tensor_count) return 0;
  return operation->check(&call, tn_nn__input(&call, 0), tn_nn__output(&call));
}

int32_t tn_nn_check(const tn_nn_program_t *program, uint32_t *failed) {
  *failed = UINT32_MAX;
  if (program == NULL || program->struct_size < sizeof *program) return TN_NN_BAD_PROGRAM;
  for (uint32_t i = 0; i < program->tensor_count; i++)
    if (!check_tensor(&program->tensors[i])) return TN_NN_BAD_PROGRAM;
  for (uint32_t i = 0; i < program->step_count; i++) {
    *failed = i;
    const tn_nn__operation_t *operation = tn_nn__find(program->steps[i].operation);
    if (operation == NULL) return TN_NN_UNKNOWN_OPERATION;
    if (!check_step(program, &program->steps[i], operation)) return TN_NN_BAD_PROGRAM;
  }
  return TN_NN_OK;
}
