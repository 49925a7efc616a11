/* Tensors: DLPack in and out, views; and shapes. */
#include "tvm/tensor.h"
#include "internal.h"
#include "object.h"

/* A tensor object: the DLTensor, then the owner of its memory, then room for the shape and the strides. */
typedef struct {
  TVMFFIObject head;
  DLTensor tensor;
  DLManagedTensor *managed; /* the owner of the memory is one of these three */
  DLManagedTensorVersioned *versioned;
  void *source; /* a tensor object, retained */
  int64_t numbers[];
} tensor_t;

static void tensor_destroy(tensor_t *self) {
  if (self->managed != NULL && self->managed->deleter != NULL) self->managed->deleter(self->managed);
  if (self->versioned != NULL && self->versioned->deleter != NULL) self->versioned->deleter(self->versioned);
  tn__release(self->source);
}
TN_DELETER(tensor_deleter, tensor_destroy)

/* Whether `data` of a tensor on this device is an address that allows arithmetic. */
static bool has_direct_address(DLDevice device) {
  return device.device_type <= kDLCUDAHost || device.device_type == kDLCUDAManaged || device.device_type == kDLROCM ||
         device.device_type == kDLROCMHost;
}

static bool is_aligned(const DLTensor *tensor, uint64_t alignment) {
  uint64_t start = tensor->byte_offset + (has_direct_address(tensor->device) ? (uintptr_t)tensor->data : 0);
  return start % alignment == 0;
}

static int check(const DLTensor *tensor, int32_t require_alignment, int32_t require_contiguous) {
  if (tensor->ndim < 0) return tn__raise("ValueError", "FromDLPack: ndim must not be negative, got %d", tensor->ndim);
  if (require_alignment > 0 && !is_aligned(tensor, (uint64_t)require_alignment))
    return tn__raise("RuntimeError", "FromDLPack: Data is not aligned to %d bytes.", require_alignment);
  if (require_contiguous != 0 && !tn__is_row_major(tensor))
    return tn__raise("RuntimeError", "FromDLPack: Tensor is not contiguous.");
  return 0;
}

/* A tensor object with a copy of the DLTensor; missing strides are computed. Null with an error raised. */
static tensor_t *make(const DLTensor *tensor, int32_t require_alignment, int32_t require_contiguous) {
  if (check(tensor, require_alignment, require_contiguous) != 0) return NULL;
  bool lacks_strides = tensor->strides == NULL && tensor->ndim > 0;
  size_t extra = lacks_strides ? (size_t)tensor->ndim * sizeof(int64_t) : 0;
  tensor_t *object = tn__object_new(sizeof *object + extra, kTVMFFITensor, tensor_deleter);
  if (object == NULL) tn__no_memory();
  if (object == NULL) return NULL;
  object->tensor = *tensor;
  if (lacks_strides) {
    object->tensor.strides = object->numbers;
    tn__row_major_strides(tensor->shape, tensor->ndim, object->numbers);
  }
  return object;
}

int TVMFFITensorFromDLPack(DLManagedTensor *from, int32_t require_alignment, int32_t require_contiguous,
                           TVMFFIObjectHandle *out) {
  tensor_t *object = make(&from->dl_tensor, require_alignment, require_contiguous);
  if (object == NULL) return -1;
  object->managed = from;
  *out = object;
  return 0;
}

int TVMFFITensorFromDLPackVersioned(DLManagedTensorVersioned *from, int32_t require_alignment,
                                    int32_t require_contiguous, TVMFFIObjectHandle *out) {
  if (from->flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED)
    return tn__raise("RuntimeError", "Subbyte type padded is not yet supported");
  tensor_t *object = make(&from->dl_tensor, require_alignment, require_contiguous);
  if (object == NULL) return -1;
  object->versioned = from;
  *out = object;
  return 0;
}

static void release_managed(DLManagedTensor *self) {
  tn__release(self->manager_ctx);
  free(self);
}

static void release_versioned(DLManagedTensorVersioned *self) {
  tn__release(self->manager_ctx);
  free(self);
}

int TVMFFITensorToDLPack(TVMFFIObjectHandle from, DLManagedTensor **out) {
  DLManagedTensor *managed = malloc(sizeof *managed);
  if (managed == NULL) return tn__no_memory();
  tn__retain(from);
  *managed = (DLManagedTensor){((tensor_t *)from)->tensor, from, release_managed};
  *out = managed;
  return 0;
}

int TVMFFITensorToDLPackVersioned(TVMFFIObjectHandle from, DLManagedTensorVersioned **out) {
  DLManagedTensorVersioned *managed = calloc(1, sizeof *managed);
  if (managed == NULL) return tn__no_memory();
  tn__retain(from);
  const tensor_t *own = from;
  /* Only tensors that this library created record their managed tensor; for those the read-only flag is kept. */
  const bool is_known = own->head.deleter == tensor_deleter && own->versioned != NULL;
  const uint64_t flags = is_known ? own->versioned->flags & DLPACK_FLAG_BITMASK_READ_ONLY : 0;
  *managed = (DLManagedTensorVersioned){{DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION}, from, release_versioned, flags,
                                        own->tensor};
  *out = managed;
  return 0;
}

int TVMFFITensorCreateUnsafeView(TVMFFIObjectHandle source, const DLTensor *prototype, TVMFFIObjectHandle *out) {
  if (prototype->ndim > 0 && prototype->strides == NULL)
    return tn__raise("InternalError", "the prototype of a view must have strides");
  size_t ndim = prototype->ndim > 0 ? (size_t)prototype->ndim : 0;
  tensor_t *view = tn__object_new(sizeof *view + 2 * ndim * sizeof(int64_t), kTVMFFITensor, tensor_deleter);
  if (view == NULL) return tn__no_memory();
  view->tensor = *prototype;
  view->tensor.shape = view->numbers;
  view->tensor.strides = view->numbers + ndim;
  if (ndim > 0) {
    memcpy(view->tensor.shape, prototype->shape, ndim * sizeof(int64_t));
    memcpy(view->tensor.strides, prototype->strides, ndim * sizeof(int64_t));
  }
  tn__retain(source);
  view->source = source;
  *out = view;
  return 0;
}

typedef struct {
  TVMFFIObject head;
  TVMFFIShapeCell cell;
  int64_t sizes[];
} shape_t;

static void shape_destroy(shape_t *self) { (void)self; }
TN_DELETER(shape_deleter, shape_destroy)

int tn__shape_make(const TVMFFIAny *sizes, int32_t count, TVMFFIAny *result) {
  shape_t *shape = tn__object_new(sizeof *shape + (size_t)count * sizeof(int64_t), kTVMFFIShape, shape_deleter);
  if (shape == NULL) return tn__no_memory();
  shape->cell = (TVMFFIShapeCell){shape->sizes, (size_t)count};
  for (int32_t i = 0; i < count; i++) {
    if (sizes[i].type_index != kTVMFFIInt && sizes[i].type_index != kTVMFFIBool) {
      tn__release(shape);
      return tn__raise("ValueError", "Expect shape to take list of int arguments");
    }
    shape->sizes[i] = sizes[i].v_int64;
  }
  *result = tn__object(shape);
  return 0;
}
