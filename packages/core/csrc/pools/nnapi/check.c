/* Checks a program before its first run. The operations of a valid one stay inside the memory of its tensors. */
#include "operations.h"

/* A call whose operands exist. */
typedef const tn_nn__call_t *call_t;
typedef const tn_nn_tensor_t *tensor_t;

static int is_quantized(tensor_t tensor) { return tensor->type == TN_NN_QUANT8 || tensor->type == TN_NN_QUANT8_SIGNED; }

/* Returns whether a tensor has one of the types that most operations accept. */
static int is_real(tensor_t tensor) { return tn_nn__is_float(tensor->type) || is_quantized(tensor); }

static int is_positive(float scale) { return scale > 0 && scale < INFINITY; }

static int has_sound_values(tensor_t tensor) {
  int32_t zero = tensor->zero_point;
  switch (tensor->type) {
    case TN_NN_FLOAT32:
    case TN_NN_FLOAT16:
    case TN_NN_INT32:
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

static int32_t check_binary(call_t call, tensor_t input, tensor_t output) {
  tensor_t b = tn_nn__input(call, 1);
  int is_whole = output->type == TN_NN_INT32 && call->step->activation == TN_NN_NONE;
  return (is_whole || is_real(output)) && input->type == output->type && b->type == output->type &&
         broadcasts_to(input, output) && broadcasts_to(b, output);
}

static int32_t check_unary(call_t call, tensor_t input, tensor_t output) {
  (void)call;
  return is_real(input) && input->type == output->type && same_shape(input, output);
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
  int dequantizes = !tn_nn__is_float(input->type) && input->type != TN_NN_INT32 && tn_nn__is_float(output->type);
  return (call->step->operation == TN_NN_QUANTIZE ? quantizes : dequantizes) && same_shape(input, output);
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
  if (input->rank != 4 || filter->rank != 4 || output->rank != 4 || !same_dimension(input, output, 0)) return 0;
  if (!has_numbers(call, 0, 2, 0) || !has_numbers(call, 2, 4, 1)) return 0;
  uint32_t depth = input->dimensions[3], channels = output->dimensions[3];
  if (call->step->operation == TN_NN_CONV_2D)
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
  return is_real(input) && input->type == output->type && input->rank == 4 && output->rank == 4 &&
         same_dimension(input, output, 0) && same_dimension(input, output, 3) && has_numbers(call, 0, 2, 0) &&
         has_numbers(call, 2, 4, 1);
}

static const tn_nn__operation_t operations[] = {
    [TN_NN_ADD] = {tn_nn__binary, check_binary, 2},
    [TN_NN_AVERAGE_POOL_2D] = {tn_nn__average_pool, check_pool, 1},
    [TN_NN_CONCATENATION] = {tn_nn__concatenation, check_concatenation, 0},
    [TN_NN_CONV_2D] = {tn_nn__convolution, check_convolution, 3},
    [TN_NN_DEPTHWISE_CONV_2D] = {tn_nn__depthwise, check_convolution, 3},
    [TN_NN_DEQUANTIZE] = {tn_nn__convert, check_conversion, 1},
    [TN_NN_FULLY_CONNECTED] = {tn_nn__fully_connected, check_fully_connected, 3},
    [TN_NN_LOGISTIC] = {tn_nn__unary, check_unary, 1},
    [TN_NN_MAX_POOL_2D] = {tn_nn__max_pool, check_pool, 1},
    [TN_NN_MUL] = {tn_nn__binary, check_binary, 2},
    [TN_NN_RELU] = {tn_nn__unary, check_unary, 1},
    [TN_NN_RELU1] = {tn_nn__unary, check_unary, 1},
    [TN_NN_RELU6] = {tn_nn__unary, check_unary, 1},
    [TN_NN_RESHAPE] = {tn_nn__copy, check_reshape, 1},
    [TN_NN_SOFTMAX] = {tn_nn__softmax, check_softmax, 1},
    [TN_NN_TANH] = {tn_nn__unary, check_unary, 1},
    [TN_NN_DIV] = {tn_nn__binary, check_binary, 2},
    [TN_NN_SUB] = {tn_nn__binary, check_binary, 2},
    [TN_NN_TRANSPOSE] = {tn_nn__transpose, check_transpose, 1},
    [TN_NN_ARGMAX] = {tn_nn__argmax, check_argmax, 1},
    [TN_NN_GATHER] = {tn_nn__gather, check_gather, 2},
    [TN_NN_QUANTIZE] = {tn_nn__convert, check_conversion, 1},
};

const tn_nn__operation_t *tn_nn__find(uint32_t operation) {
  const int is_known = operation < sizeof operations / sizeof *operations && operations[operation].run != NULL;
  return is_known ? &operations[operation] : NULL;
}

static int check_step(const tn_nn_program_t *program, const tn_nn_step_t *step, const tn_nn__operation_t *operation) {
  if (operation->inputs != 0 && step->input_count != operation->inputs) return 0;
  if (step->first_operand > program->operand_count || step->input_count >= program->operand_count - step->first_operand)
    return 0;
  if (step->activation < TN_NN_NONE || step->activation > TN_NN_BOUND_RELU6) return 0;
  tn_nn__call_t call = {step, program->tensors, program->operands + step->first_operand};
  for (uint32_t i = 0; i <= step->input_count; i++)
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
