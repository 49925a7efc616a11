/* Tensors of JavaScript in native code, and native tensors in JavaScript. */
#include "tvm/tensor.h"
#include "error.h"
#include "host.h"

typedef struct {
  DLManagedTensorVersioned managed;
  tn__foreign_t *foreign;
  int64_t numbers[];
} managed_t;

static void release_managed(DLManagedTensorVersioned *managed) {
  managed_t *own = managed->manager_ctx;
  tn__foreign_release(own->foreign);
  free(own);
}

int32_t tn_packed_tensor_create(TVMFFIAny *slot, const tn_packed_tensor_t *description) {
  size_t ndim = (size_t)description->ndim;
  managed_t *own = calloc(1, sizeof *own + 2 * ndim * sizeof(int64_t));
  if (own != NULL) own->foreign = tn__foreign_new(tn__stack_of(slot), description->id);
  if (own == NULL || own->foreign == NULL) {
    free(own);
    return tn__packed_fail(slot, "MemoryError", "out of memory for a tensor");
  }
  memcpy(own->numbers, description + 1, 2 * ndim * sizeof(int64_t));
  DLTensor *tensor = &own->managed.dl_tensor;
  own->managed.version = (DLPackVersion){DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  own->managed.manager_ctx = own;
  own->managed.deleter = release_managed;
  own->managed.flags = description->flags;
  *tensor = (DLTensor){.data = (void *)(uintptr_t)description->data,
                       .device = {description->device_type, description->device_id},
                       .ndim = description->ndim,
                       .shape = own->numbers,
                       .strides = own->numbers + ndim};
  memcpy(&tensor->dtype, &description->dtype, sizeof tensor->dtype);
  TVMFFIObjectHandle object = NULL;
  int status = tn__ffi.TVMFFITensorFromDLPackVersioned(&own->managed, 0, 0, &object);
  int32_t left = tn__leave(slot, status, kTVMFFITensor, object);
  if (status != 0) release_managed(&own->managed);
  return left;
}

int32_t tn_packed_tensor_from_dlpack(TVMFFIAny *slot, void *managed, uint32_t versioned, uint32_t alignment) {
  TVMFFIObjectHandle object = NULL;
  int status = versioned ? tn__ffi.TVMFFITensorFromDLPackVersioned(managed, (int32_t)alignment, 0, &object)
                         : tn__ffi.TVMFFITensorFromDLPack(managed, (int32_t)alignment, 0, &object);
  return tn__leave(slot, status, kTVMFFITensor, object);
}

void tn_packed_delete_dlpack(void *managed) {
  DLManagedTensorVersioned *tensor = managed;
  if (tensor->deleter != NULL) tensor->deleter(tensor);
}

int32_t tn_packed_tensor_to_dlpack(TVMFFIAny *slot, TVMFFIObject *object, uint32_t versioned, uint32_t flags) {
  DLManagedTensorVersioned *with_version = NULL;
  DLManagedTensor *plain = NULL;
  int status = versioned ? tn__ffi.TVMFFITensorToDLPackVersioned(object, &with_version)
                         : tn__ffi.TVMFFITensorToDLPack(object, &plain);
  if (status != 0) return tn__take_error(slot);
  if (versioned) with_version->flags |= flags;
  *slot = (TVMFFIAny){.type_index = kTVMFFIOpaquePtr, .v_ptr = versioned ? (void *)with_version : (void *)plain};
  return 0;
}

int32_t tn_packed_describe_view(tn_packed_stack_t *stack, const DLTensor *tensor) {
  size_t ndim = (size_t)tensor->ndim;
  if (tensor->ndim < 0 || ndim > TN_PACKED_OUT_SIZE / (2 * sizeof(int64_t))) return -1;
  uint64_t *words = stack->head.words;
  words[0] = (uintptr_t)tensor->data + tensor->byte_offset;
  words[1] = (uint64_t)(int64_t)tensor->device.device_type;
  words[2] = (uint64_t)(int64_t)tensor->device.device_id;
  words[3] = ndim;
  words[4] = 0;
  memcpy(&words[4], &tensor->dtype, sizeof tensor->dtype);
  words[5] = tensor->strides != NULL;
  if (ndim > 0) memcpy(tn__out(stack), tensor->shape, ndim * sizeof(int64_t));
  if (ndim > 0 && tensor->strides != NULL)
    memcpy(tn__out(stack) + ndim * sizeof(int64_t), tensor->strides, ndim * sizeof(int64_t));
  return 0;
}

int32_t tn_packed_describe_tensor(tn_packed_stack_t *stack, TVMFFIObject *object) {
  DLManagedTensorVersioned *managed = NULL;
  if (tn__ffi.TVMFFITensorToDLPackVersioned(object, &managed) != 0) {
    TVMFFIAny error;
    tn__take_error(&error);
    tn_packed_clear(&error);
    return -1;
  }
  int32_t status = tn_packed_describe_view(stack, &managed->dl_tensor);
  stack->head.words[6] = managed->flags;
  managed->deleter(managed);
  return status;
}

/* Allocates a tensor that a kernel returns: zeroed, aligned to 64 bytes, row-major, on the CPU. */
static int allocate_result(DLTensor *prototype, DLManagedTensorVersioned **out, void *context,
                           void (*set_error)(void *context, const char *kind, const char *message)) {
  if (prototype->device.device_type != kDLCPU) {
    set_error(context, "RuntimeError", "only tensors on the CPU can be allocated");
    return -1;
  }
  size_t byte_size;
  const uint64_t bits = (uint64_t)prototype->dtype.bits * prototype->dtype.lanes;
  *out = tn__tensor_byte_size(prototype, bits, &byte_size) ? tn__tensor_new(prototype, byte_size) : NULL;
  if (*out != NULL) return 0;
  set_error(context, "MemoryError", "out of memory for a tensor");
  return -1;
}

int32_t tn_packed_install_allocator(void) {
  DLPackManagedTensorAllocator unused;
  int status = tn__ffi.TVMFFIEnvSetDLPackManagedTensorAllocator(allocate_result, 1, &unused);
  return status == 0 ? TN_OK : TN_UNSUPPORTED;
}
