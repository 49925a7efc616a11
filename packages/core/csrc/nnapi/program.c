#include "cancel.h"
#include "operations.h"

int32_t tn_nn_run(const tn_nn_program_t *program, uint32_t first, uint32_t count, uint32_t *failed) {
  if (program == NULL || program->struct_size < sizeof *program || first > program->step_count ||
      count > program->step_count - first)
    return TN_NN_BAD_PROGRAM;
  for (uint32_t i = first; i < first + count; i++) {
    const tn_nn_step_t *step = &program->steps[i];
    const tn_nn__operation_t *operation = tn_nn__find(step->operation);
    tn_nn__call_t call = {step, program->tensors, program->operands + step->first_operand};
    int32_t outcome = operation == NULL ? TN_NN_UNKNOWN_OPERATION : tn_nn__is_cancelled() ? TN_NN_CANCELLED : TN_NN_OK;
    if (outcome == TN_NN_OK) outcome = operation->run(&call, tn_nn__input(&call, 0), tn_nn__output(&call));
    if (outcome == TN_NN_OK) continue;
    *failed = i;
    return outcome;
  }
  return TN_NN_OK;
}
