/* Operations on each element, block by block, so that long ones end when they should. */
#include "cancel.h"
#include "operations.h"

enum { MOST_OPERANDS = 4 };

/* The next elements of operands that have as many elements as the result. */
typedef struct {
  uint32_t count, operands[MOST_OPERANDS];
  tn_nn_tensor_t tensors[MOST_OPERANDS];
} parts_t;

/* Returns 0 if the operation cannot be divided: for tensors of other sizes, and for scales that depend on the index. */
static int divide(const tn_nn__call_t *call, parts_t *parts) {
  const uint64_t total = tn_nn__output(call)->count;
  parts->count = call->step->input_count + 1;
  if (parts->count > MOST_OPERANDS) return 0;
  for (uint32_t i = 0; i < parts->count; i++) {
    parts->operands[i] = i;
    parts->tensors[i] = *tn_nn__input(call, i);
    if (parts->tensors[i].count != total || parts->tensors[i].scales != NULL) return 0;
  }
  return 1;
}

int32_t tn_nn__run_blocks(const tn_nn__call_t *call, tn_nn__run_t *run) {
  const tn_nn_tensor_t *output = tn_nn__output(call);
  const uint64_t block = TN_NN__BLOCK / tn_nn__element_size(output);
  parts_t parts;
  if (output->count <= block || !divide(call, &parts)) return run(call, tn_nn__input(call, 0), output);
  const tn_nn__call_t part = {call->step, parts.tensors, parts.operands};
  for (uint64_t left = output->count; left > 0;) {
    if (tn_nn__is_cancelled()) return TN_NN_CANCELLED;
    const uint64_t count = left < block ? left : block;
    for (uint32_t i = 0; i < parts.count; i++) parts.tensors[i].count = count;
    const int32_t outcome = run(&part, parts.tensors, &parts.tensors[parts.count - 1]);
    if (outcome != TN_NN_OK) return outcome;
    for (uint32_t i = 0; i < parts.count; i++)
      parts.tensors[i].data = (uint8_t *)parts.tensors[i].data + count * tn_nn__element_size(&parts.tensors[i]);
    left -= count;
  }
  return TN_NN_OK;
}
