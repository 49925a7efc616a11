/* Instances of kernels, and their runs. */
#include "base/read_address.h"
#include "internal.h"
#include "tenon_tstring.h"

static atomic_size_t instances;

/* --- instances ------------------------------------------------------------------------------------------------------------------------- */

static void create_self(void *context) {
  TF_OpKernelConstruction *construction = context;
  tn_tf_instance_t *instance = (tn_tf_instance_t *)(uintptr_t)construction->instance;
  instance->self = instance->kernel->create(construction);
}

static void delete_self(void *context) {
  const tn_tf_instance_t *instance = context;
  instance->kernel->destroy(instance->self);
}

static tn_tf_instance_t *copy_of(const tn__tf_description_t *description) {
  tn_tf_instance_t *instance = calloc(1, sizeof *instance + description->size);
  if (instance == NULL) return NULL;
  memcpy(&instance->description, description, description->size);
  instance->kernel = tn__tf_kernel(description->kernel);
  instance->name = (const char *)(&instance->description + 1);
  instance->operands = instance->attributes = instance->name + ((description->name_size + 8) & ~7u);
  const char *name;
  for (uint32_t i = 0, count; i < description->operand_count; i++)
    instance->attributes = tn__tf_operand(instance->attributes, &name, &count);
  return instance;
}

int32_t tn_tf_create(const void *description, tn_tf_instance_t **out, uint64_t *failure) {
  tn_tf_instance_t *instance = copy_of(description);
  if (instance == NULL) return TN_OUT_OF_MEMORY;
  atomic_fetch_add_explicit(&instances, 1, memory_order_relaxed);
  TF_OpKernelConstruction construction = {instance, 0};
  const int32_t status = instance->kernel->create == NULL ? TN_OK : tn_guard_call(create_self, &construction);
  if (status == TN_OK && construction.failure == 0) {
    *out = instance;
    return TN_OK;
  }
  if (status != TN_OK) tn__tf_fail(&construction.failure, TF_INTERNAL, "%s", tn_last_error());
  *failure = construction.failure;
  (void)tn_tf_delete(instance);
  return TN_KERNEL_FAILED;
}

int32_t tn_tf_delete(tn_tf_instance_t *instance) {
  if (instance == NULL) return TN_OK;
  const int32_t status = instance->kernel->destroy == NULL ? TN_OK : tn_guard_call(delete_self, instance);
  free(instance);
  atomic_fetch_sub_explicit(&instances, 1, memory_order_relaxed);
  return status;
}

void tn_tf_counts(tn_tf_counts_t *out) { *out = (tn_tf_counts_t){instances, tn__tf_memories}; }

/* --- operands -------------------------------------------------------------------------------------------------------------------------- */

static void begin(tn_tf_call_t *call) {
  tn_tf_operand_t *operands = tn__tf_operands(call);
  tn_tf_result_t *results = tn__tf_results(call);
  call->left = 0;
  call->failure = call->done = 0;
  call->step = 0;
  for (uint32_t i = 0; i < call->results; i++) {
    results[i].state = 0;
    results[i].tensor = results[i].memory = results[i].needed = 0;
  }
  for (uint32_t i = 0; i < call->operands; i++) {
    tn_tf_operand_t *operand = &operands[i];
    void *data = tn__read_address(&operand->data);
    operand->memory = (uintptr_t)tn__tf_borrow(operand->own, data, (size_t)operand->byte_size, (size_t)operand->extent);
  }
}

/* Releases memory of the caller. Memory that the kernel still refers to stays, and is counted as left. */
static void release(tn_tf_call_t *call, uint64_t *memory) {
  if (*memory == 0) return;
  if (tn_tf_memory_release(*memory)) *memory = 0;
  else call->left++;
}

static void release_all(tn_tf_call_t *call) {
  for (uint32_t i = 0; i < call->operands; i++) release(call, &tn__tf_operands(call)[i].memory);
  for (uint32_t i = 0; i < call->results; i++) release(call, &tn__tf_results(call)[i].memory);
}

/* --- results --------------------------------------------------------------------------------------------------------------------------- */

/* Strings as tstring/convert.c reads and packs them. */
typedef struct {
  tn_tstring_tensor_t source;
  tn_tstring_target_t target;
  tn_tstring_fault_t fault;
} strings_t;

static strings_t strings_of(const TF_Tensor *tensor, const tn_tf_result_t *result) {
  const tn__tf_memory_t *memory = tensor->memory;
  const uint64_t count = (uint64_t)TF_TensorElementCount(tensor), table = count * sizeof(TF_TString);
  const int32_t abi = TN_STRING__BIG_ENDIAN ? TN_TSTRING_BE64 : TN_TSTRING_LE64;
  uint8_t *to = tn__tf_pointer(result->data);
  return (strings_t){
      .source = {.struct_size = sizeof(tn_tstring_tensor_t), .layout = TN_TSTRING_TF, .abi = abi, .flags = TN_TSTRING_FOLLOW, .count = count,
                 .table_size = table, .data_size = memory->extent, .table = memory->data, .data = memory->data},
      .target = {.struct_size = sizeof(tn_tstring_target_t), .layout = TN_TSTRING_TF, .abi = abi, .form = TN_TSTRING_AS_OFFSET,
                 .is_inline = 1, .table_size = table, .data_size = result->needed - table, .table = to, .data = to + table},
      .fault = {.struct_size = sizeof(tn_tstring_fault_t)}};
}

static int measure(tn_tf_result_t *result) {
  const TF_Tensor *tensor = tn__tf_pointer(result->tensor);
  if (result->type != TF_STRING) {
    result->needed = tn__tf_byte_size(tensor->type, TF_TensorElementCount(tensor));
    return 1;
  }
  strings_t strings = strings_of(tensor, result);
  if (tn_tstring_measure(&strings.source, NULL, strings.source.count, &strings.target, &strings.fault) != TN_OK) return 0;
  result->needed = strings.target.table_size + strings.target.data_size;
  return 1;
}

/* Finds the operand whose memory a result is. Results in memory of the caller and strings are copied instead. */
static void find_operand(tn_tf_call_t *call, tn_tf_result_t *result) {
  const TF_Tensor *tensor = tn__tf_pointer(result->tensor);
  if ((result->flags & TN_TF_IS_EXACT) != 0 || result->type == TF_STRING) return;
  for (uint32_t i = 0; i < call->operands; i++) {
    if (tn__tf_operands(call)[i].memory != (uintptr_t)tensor->memory) continue;
    result->state = TN_TF_OPERAND;
    result->operand = (int32_t)i;
    return;
  }
}

static void check_results(tn_tf_call_t *call) {
  const tn_tf_instance_t *instance = tn__tf_pointer(call->instance);
  for (uint32_t i = 0; i < call->results && call->failure == 0; i++) {
    tn_tf_result_t *result = &tn__tf_results(call)[i];
    if (result->state == TN_TF_IN_PLACE) continue;
    call->left++;
    if (result->state == 0) tn__tf_fail(&call->failure, TF_INTERNAL, "%s set no output %u", instance->name, i);
    else if (!measure(result)) tn__tf_fail(&call->failure, TF_INTERNAL, "%s set strings that are not valid as output %u", instance->name, i);
    else find_operand(call, result);
  }
}

static void drop_results(tn_tf_call_t *call) {
  for (uint32_t i = 0; i < call->results; i++) {
    tn_tf_result_t *result = &tn__tf_results(call)[i];
    TF_Tensor *tensor = tn__tf_pointer(result->tensor);
    result->tensor = 0;
    result->state = 0;
    TF_DeleteTensor(tensor);
  }
}

static int32_t finish(tn_tf_call_t *call) {
  check_results(call);
  if (call->failure != 0) {
    call->left = 0;
    drop_results(call);
    release_all(call);
    return TN_KERNEL_FAILED;
  }
  /* Otherwise tn_tf_take() releases the memory, to which results may refer. */
  if (call->left == 0) release_all(call);
  return TN_OK;
}

int32_t tn_tf_shape(const tn_tf_call_t *call, uint32_t result, int64_t *dims) {
  const tn_tf_result_t *results = tn__tf_results((tn_tf_call_t *)(uintptr_t)call);
  const TF_Tensor *tensor = tn__tf_pointer(results[result].tensor);
  if (tensor->rank > 0) memcpy(dims, tensor->dims, (size_t)tensor->rank * sizeof *dims);
  return tensor->rank;
}

static int32_t take(tn_tf_result_t *result) {
  const TF_Tensor *tensor = tn__tf_pointer(result->tensor);
  if (result->data == 0 || result->state != TN_TF_OWNED) return TN_OK;
  if (result->type != TF_STRING) {
    memcpy(tn__tf_pointer(result->data), tensor->memory->data, (size_t)result->needed);
    return TN_OK;
  }
  strings_t strings = strings_of(tensor, result);
  return tn_tstring_convert(&strings.source, NULL, strings.source.count, &strings.target, &strings.fault);
}

int32_t tn_tf_take(tn_tf_call_t *call) {
  int32_t status = TN_OK;
  for (uint32_t i = 0; i < call->results && status == TN_OK; i++)
    if (tn__tf_results(call)[i].tensor != 0) status = take(&tn__tf_results(call)[i]);
  drop_results(call);
  call->left = 0;
  release_all(call);
  return status;
}

/* --- runs ------------------------------------------------------------------------------------------------------------------------------ */

int32_t tn__tf_enter(tn_tf_call_t *call) {
  const tn_tf_instance_t *instance = tn__tf_pointer(call->instance);
  begin(call);
  if (instance->kernel->compute_async != NULL) tn__tf_run_async(call, instance);
  else instance->kernel->compute(instance->self, (TF_OpKernelContext *)(void *)call);
  return finish(call);
}

int32_t tn_tf_run(tn_call_frame_t *frame) { return tn__tf_enter(tn__read_address(&frame->integers[0])); }

int32_t tn_tf_end_exception(tn_tf_call_t *call, int32_t status) {
  tn__tf_forget(call);
  tn__tf_fail(&call->failure, status == TN_OUT_OF_MEMORY ? TF_RESOURCE_EXHAUSTED : TF_INTERNAL, "%s", tn_last_error());
  return finish(call);
}
