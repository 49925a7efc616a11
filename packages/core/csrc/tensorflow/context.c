/* The context of a run, which is its call. */
#include <stdio.h>

#include "internal.h"

static tn_tf_call_t *call_of(TF_OpKernelContext *context) { return (tn_tf_call_t *)(void *)context; }
static const tn_tf_instance_t *instance_of(TF_OpKernelContext *context) { return tn__tf_pointer(call_of(context)->instance); }

static tn_tf_operand_t *operand_at(TF_OpKernelContext *context, int index) {
  tn_tf_call_t *call = call_of(context);
  return index >= 0 && (uint32_t)index < call->operands ? &tn__tf_operands(call)[index] : NULL;
}

static tn_tf_result_t *result_at(TF_OpKernelContext *context, int index, TF_Status *status) {
  tn_tf_call_t *call = call_of(context);
  if (index >= 0 && (uint32_t)index < call->results) return &tn__tf_results(call)[index];
  tn__tf_set(status, TF_OUT_OF_RANGE, "%s has %u outputs, and no output %d", instance_of(context)->name, call->results, index);
  return NULL;
}

static TF_StringView view_of(const char *text) { return (TF_StringView){text, strlen(text)}; }

/* --- operands -------------------------------------------------------------------------------------------------------------------------- */

int TF_NumInputs(TF_OpKernelContext *context) { return (int)call_of(context)->operands; }
int TF_NumOutputs(TF_OpKernelContext *context) { return (int)call_of(context)->results; }

static void refuse_input(TF_OpKernelContext *context, int index, TF_Status *status) {
  tn__tf_set(status, TF_OUT_OF_RANGE, "%s has %u inputs, and no input %d", instance_of(context)->name, call_of(context)->operands, index);
}

void TF_GetInput(TF_OpKernelContext *context, int index, TF_Tensor **tensor, TF_Status *status) {
  const tn_tf_operand_t *operand = operand_at(context, index);
  if (operand == NULL) return refuse_input(context, index, status);
  TF_Tensor *made = tn__tf_tensor(tn__tf_pointer(operand->memory), (TF_DataType)operand->type, tn__tf_pointer(operand->dims), operand->rank);
  if (made == NULL) return TF_SetStatus(status, TF_RESOURCE_EXHAUSTED, "out of memory for a tensor");
  *tensor = made;
  tn__tf_ok(status);
}

/* Finds the tensors of an operand by its name. Returns 0 if there is none. */
static int range_of(const tn_tf_instance_t *instance, const char *name, int *start, int *stop) {
  const char *at = instance->operands, *known;
  int next = 0;
  for (uint32_t i = 0, count; i < instance->description.operand_count; i++) {
    at = tn__tf_operand(at, &known, &count);
    *start = next;
    *stop = next += (int)count;
    if (strcmp(known, name) == 0) return 1;
  }
  *start = *stop = -1;
  return 0;
}

void TF_InputRange(TF_OpKernelContext *context, const char *name, TF_InputRange_Args *args) {
  if (range_of(instance_of(context), name, &args->start, &args->stop)) return tn__tf_ok(args->status);
  tn__tf_set(args->status, TF_INVALID_ARGUMENT, "%s has no input %s", instance_of(context)->name, name);
}

void TF_GetInputByName(TF_OpKernelContext *context, const char *name, TF_Tensor **tensor, TF_Status *status) {
  int start, stop;
  if (!range_of(instance_of(context), name, &start, &stop))
    return tn__tf_set(status, TF_INVALID_ARGUMENT, "%s has no input %s", instance_of(context)->name, name);
  if (stop != start + 1) return tn__tf_set(status, TF_INVALID_ARGUMENT, "input %s is a list of %d tensors", name, stop - start);
  TF_GetInput(context, start, tensor, status);
}

TF_DataType TF_InputDatatype(TF_OpKernelContext *context, int index) {
  const tn_tf_operand_t *operand = operand_at(context, index);
  if (operand != NULL) return (TF_DataType)operand->type;
  tn__tf_fail(&call_of(context)->failure, TF_OUT_OF_RANGE, "%s has no input %d", instance_of(context)->name, index);
  return (TF_DataType)0;
}

bool TF_IsRefInput(TF_OpKernelContext *context, int index, TF_Status *status) {
  if (operand_at(context, index) == NULL) refuse_input(context, index, status);
  else tn__tf_ok(status);
  return false;
}

bool TF_IsHostMemoryInput(TF_OpKernelContext *context, int index, TF_Status *status) {
  return !TF_IsRefInput(context, index, status) && operand_at(context, index) != NULL;
}

bool TF_IsHostMemoryOutput(TF_OpKernelContext *context, int index, TF_Status *status) {
  if (result_at(context, index, status) == NULL) return false;
  tn__tf_ok(status);
  return true;
}

TF_StringView TF_GetOpKernelRequestedInput(TF_OpKernelContext *context, size_t index) {
  const tn_tf_instance_t *instance = instance_of(context);
  const char *at = instance->operands, *name;
  for (uint32_t i = 0, count; i < instance->description.operand_count; i++, index -= count) {
    at = tn__tf_operand(at, &name, &count);
    if (index < count) return view_of(name);
  }
  return (TF_StringView){NULL, 0};
}

/* --- results --------------------------------------------------------------------------------------------------------------------------- */

TF_DataType TF_ExpectedOutputDataType(TF_OpKernelContext *context, int index) {
  tn_tf_call_t *call = call_of(context);
  if (index >= 0 && (uint32_t)index < call->results) return (TF_DataType)tn__tf_results(call)[index].type;
  /* TensorFlow ends the process here. */
  tn__tf_fail(&call->failure, TF_OUT_OF_RANGE, "%s has no output %d", instance_of(context)->name, index);
  return (TF_DataType)0;
}

static int has_shape(const tn_tf_result_t *result, const int64_t *dims, int rank) {
  if (result->dims == 0 || rank != result->rank) return 0;
  return rank == 0 || memcmp(tn__tf_pointer(result->dims), dims, (size_t)rank * sizeof *dims) == 0;
}

/* Sets the status if the caller's memory has another shape. */
static int refuses_shape(TF_OpKernelContext *context, const tn_tf_result_t *result, const int64_t *dims, int rank, TF_Status *status) {
  if ((result->flags & TN_TF_IS_EXACT) == 0 || has_shape(result, dims, rank)) return 0;
  char own[TN__TF_SHAPE_TEXT], other[TN__TF_SHAPE_TEXT];
  tn__tf_shape_text(dims, rank, own);
  tn__tf_shape_text(tn__tf_pointer(result->dims), result->rank, other);
  tn__tf_set(status, TF_INVALID_ARGUMENT, "output %d of %s has the shape %s, and into has memory of the shape %s",
             (int)(result - tn__tf_results(call_of(context))), instance_of(context)->name, own, other);
  return 1;
}

/* Frees what a kernel has set before. Memory of the caller that the kernel still has is not offered again. */
static void unset(tn_tf_result_t *result) {
  TF_DeleteTensor(tn__tf_pointer(result->tensor));
  if (result->memory != 0 && tn_tf_memory_release(result->memory)) result->memory = 0;
  result->tensor = 0;
  result->state = 0;
}

static TF_Tensor *own(tn_tf_result_t *result, TF_Tensor *tensor, TF_Status *status) {
  if (tensor == NULL) return NULL;
  TF_Tensor *kept = tn__tf_tensor(tensor->memory, tensor->type, tensor->dims, tensor->rank);
  if (kept == NULL) {
    TF_DeleteTensor(tensor);
    TF_SetStatus(status, TF_RESOURCE_EXHAUSTED, "out of memory for a tensor");
    return NULL;
  }
  result->tensor = (uintptr_t)kept;
  result->state = TN_TF_OWNED;
  return tensor;
}

static TF_Tensor *use_offered(tn_tf_result_t *result, TF_Status *status) {
  tn__tf_memory_t *memory = tn__tf_borrow(result->own, tn__tf_pointer(result->data), result->byte_size, result->byte_size);
  TF_Tensor *tensor = tn__tf_tensor(memory, (TF_DataType)result->type, tn__tf_pointer(result->dims), result->rank);
  if (tensor == NULL) {
    TF_SetStatus(status, TF_RESOURCE_EXHAUSTED, "out of memory for a tensor");
    return NULL;
  }
  result->memory = (uintptr_t)memory;
  result->state = TN_TF_IN_PLACE;
  return tensor;
}

/* The type and the length are those of the operation. */
TF_Tensor *TF_AllocateOutput(TF_OpKernelContext *context, int index, TF_DataType type, const int64_t *dims, int num_dims, size_t length,
                             TF_Status *status) {
  (void)type, (void)length;
  tn_tf_result_t *result = result_at(context, index, status);
  if (result == NULL) return NULL;
  tn__tf_ok(status);
  unset(result);
  if (refuses_shape(context, result, dims, num_dims, status)) return NULL;
  if (result->data != 0 && result->memory == 0 && has_shape(result, dims, num_dims)) return use_offered(result, status);
  return own(result, tn__tf_allocate((TF_DataType)result->type, dims, num_dims, status), status);
}

/* Whether an output can be in the memory of an operand: the kernel has no reference to it. Strings belong to the caller. */
static int can_forward(const tn_tf_operand_t *operand, const tn_tf_result_t *result, int64_t count) {
  return operand != NULL && (operand->flags & TN_TF_IS_DONATED) != 0 && (result->flags & TN_TF_IS_EXACT) == 0 &&
         operand->type == result->type && operand->type != TF_STRING && tn__tf_is_only(tn__tf_pointer(operand->memory)) &&
         tn__tf_byte_size((TF_DataType)operand->type, count) == operand->byte_size;
}

TF_Tensor *TF_ForwardInputOrAllocateOutput(TF_OpKernelContext *context, const int *candidates, int num_candidates, int index,
                                           const int64_t *dims, int num_dims, int *forwarded_input, TF_Status *status) {
  if (forwarded_input != NULL) *forwarded_input = -1;
  tn_tf_result_t *result = result_at(context, index, status);
  if (result == NULL) return NULL;
  for (int i = 0; i < num_candidates; i++) {
    tn_tf_operand_t *operand = operand_at(context, candidates[i]);
    if (!can_forward(operand, result, tn__tf_count(dims, num_dims))) continue;
    unset(result);
    TF_Tensor *tensor = tn__tf_tensor(tn__tf_pointer(operand->memory), (TF_DataType)operand->type, dims, num_dims);
    if ((tensor = own(result, tensor, status)) == NULL) return NULL;
    if (forwarded_input != NULL) *forwarded_input = candidates[i];
    tn__tf_ok(status);
    return tensor;
  }
  return TF_AllocateOutput(context, index, (TF_DataType)result->type, dims, num_dims, 0, status);
}

TF_Tensor *TF_AllocateTemp(TF_OpKernelContext *context, TF_DataType type, const int64_t *dims, int num_dims,
                           TF_AllocatorAttributes *attributes, TF_Status *status) {
  (void)context;
  if (attributes != NULL && attributes->struct_size == 0) {
    TF_SetStatus(status, TF_INVALID_ARGUMENT, "struct_size of TF_AllocatorAttributes must not be 0");
    return NULL;
  }
  tn__tf_ok(status);
  return tn__tf_allocate(type, dims, num_dims, status);
}

void TF_SetOutput(TF_OpKernelContext *context, int index, const TF_Tensor *tensor, TF_Status *status) {
  tn_tf_result_t *result = result_at(context, index, status);
  if (result == NULL) return;
  if ((int)tensor->type != result->type)
    return tn__tf_set(status, TF_INTERNAL, "output %d of %s has the type %d, not %d", index, instance_of(context)->name, (int)tensor->type,
                      result->type);
  if (refuses_shape(context, result, tensor->dims, tensor->rank, status)) return;
  tn__tf_ok(status);
  if (result->state == TN_TF_IN_PLACE && (uintptr_t)tensor->memory == result->memory && has_shape(result, tensor->dims, tensor->rank)) return;
  TF_Tensor *kept = tn__tf_tensor(tensor->memory, tensor->type, tensor->dims, tensor->rank);
  if (kept == NULL) return TF_SetStatus(status, TF_RESOURCE_EXHAUSTED, "out of memory for a tensor");
  unset(result);
  result->tensor = (uintptr_t)kept;
  result->state = TN_TF_OWNED;
}

TF_Tensor *TF_GetMutableOutput(TF_OpKernelContext *context, int index, TF_Status *status) {
  const tn_tf_result_t *result = result_at(context, index, status);
  if (result == NULL) return NULL;
  tn__tf_ok(status);
  if (result->state == TN_TF_IN_PLACE)
    return tn__tf_tensor(tn__tf_pointer(result->memory), (TF_DataType)result->type, tn__tf_pointer(result->dims), result->rank);
  const TF_Tensor *tensor = tn__tf_pointer(result->tensor);
  if (tensor != NULL) return tn__tf_tensor(tensor->memory, tensor->type, tensor->dims, tensor->rank);
  tn__tf_set(status, TF_FAILED_PRECONDITION, "output %d of %s is not set", index, instance_of(context)->name);
  return NULL;
}

/* --- the run --------------------------------------------------------------------------------------------------------------------------- */

void TF_OpKernelContext_Failure(TF_OpKernelContext *context, TF_Status *status) { tn__tf_keep_failure(&call_of(context)->failure, status); }

void TF_OpKernelConstruction_Failure(TF_OpKernelConstruction *construction, TF_Status *status) {
  tn__tf_keep_failure(&construction->failure, status);
}

SP_Stream TF_GetStream(TF_OpKernelContext *context, TF_Status *status) {
  tn__tf_set(status, TF_FAILED_PRECONDITION, "%s runs on the CPU, which has no stream", instance_of(context)->name);
  return NULL;
}

int64_t TF_StepId(TF_OpKernelContext *context) {
  static int64_t last;
  int64_t none = 0, *step = &call_of(context)->step;
  const int64_t next = __atomic_load_n(step, __ATOMIC_RELAXED) == 0 ? __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED) : 0;
  if (next != 0) __atomic_compare_exchange_n(step, &none, next, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return __atomic_load_n(step, __ATOMIC_RELAXED);
}
int64_t TF_GetStepId(TF_OpKernelContext *context) { return TF_StepId(context); }
uint64_t TF_GetFrameId(TF_OpKernelContext *context) { return (void)context, 0; }
int64_t TF_GetIterId(TF_OpKernelContext *context) { return (void)context, 0; }
int TF_GetDeviceId(TF_OpKernelContext *context) { return (void)context, 0; }
int TF_GetGraphDefVersion(TF_OpKernelContext *context) { return (void)context, 0; }
TF_StringView TF_GetDeviceName(TF_OpKernelContext *context) { return (void)context, view_of("/job:localhost/replica:0/task:0/device:CPU:0"); }
TF_StringView TF_GetOpKernelName(TF_OpKernelContext *context) { return view_of(instance_of(context)->name); }
TF_StringView TF_GetResourceMgrDefaultContainerName(TF_OpKernelContext *context) { return (void)context, view_of("localhost"); }
void TF_IncNumDeferredOps(TF_OpKernelContext *context) { (void)context; }
void TF_DecNumDeferredOps(TF_OpKernelContext *context) { (void)context; }
