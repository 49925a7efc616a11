/* Runs the steps of a program. */
#include "operations.h"

tn_nn__operation_t tn_nn__find(uint32_t operation) {
  switch (operation) {
    case TN_NN_ADD:
    case TN_NN_SUB:
    case TN_NN_MUL:
    case TN_NN_DIV:
      return tn_nn__binary;
    case TN_NN_RELU:
    case TN_NN_RELU1:
    case TN_NN_RELU6:
    case TN_NN_TANH:
    case TN_NN_LOGISTIC:
      return tn_nn__unary;
    case TN_NN_SOFTMAX:
      return tn_nn__softmax;
    case TN_NN_RESHAPE:
      return tn_nn__copy;
    case TN_NN_TRANSPOSE:
      return tn_nn__transpose;
    case TN_NN_CONCATENATION:
      return tn_nn__concatenation;
    case TN_NN_GATHER:
      return tn_nn__gather;
    case TN_NN_ARGMAX:
      return tn_nn__argmax;
    case TN_NN_QUANTIZE:
    case TN_NN_DEQUANTIZE:
      return tn_nn__convert;
    case TN_NN_CONV_2D:
      return tn_nn__convolution;
    case TN_NN_DEPTHWISE_CONV_2D:
      return tn_nn__depthwise;
    case TN_NN_FULLY_CONNECTED:
      return tn_nn__fully_connected;
    case TN_NN_AVERAGE_POOL_2D:
      return tn_nn__average_pool;
    case TN_NN_MAX_POOL_2D:
      return tn_nn__max_pool;
    default:
      return NULL;
  }
}

int32_t tn_nn_run(const tn_nn_program_t *program, uint32_t first, uint32_t count, uint32_t *failed) {
  if (program == NULL || program->struct_size < sizeof *program || first > program->step_count ||
      count > program->step_count - first)
    return TN_NN_BAD_PROGRAM;
  for (uint32_t i = first; i < first + count; i++) {
    const tn_nn_step_t *step = &program->steps[i];
    tn_nn__operation_t operation = tn_nn__find(step->operation);
    tn_nn__call_t call = {step, program->tensors, program->operands + step->first_operand};
    int32_t outcome = operation == NULL ? TN_NN_UNKNOWN_OPERATION : operation(&call);
    if (outcome != TN_NN_OK) {
      *failed = i;
      return outcome;
    }
  }
  return TN_NN_OK;
}
