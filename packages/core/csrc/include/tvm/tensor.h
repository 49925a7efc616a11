/* Row-major tensors on the CPU, for all three libraries. */
#pragma once

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tenon.h"
#include "tenon/tvm_dlpack.h"

#define TN__TENSOR_ALIGNMENT 64

static inline bool tn__is_empty(const DLTensor *tensor) {
  for (int32_t i = 0; i < tensor->ndim; i++)
    if (tensor->shape[i] == 0) return true;
  return false;
}

static inline bool tn__is_row_major(const DLTensor *tensor) {
  uint64_t expected = 1;
  if (tensor->strides == NULL || tn__is_empty(tensor)) return true;
  for (int32_t i = tensor->ndim; i-- > 0;) {
    if (tensor->shape[i] == 1) continue;
    if ((uint64_t)tensor->strides[i] != expected) return false;
    expected *= (uint64_t)tensor->shape[i];
  }
  return true;
}

/* The strides of a tensor without elements are never used, and may be too large for an integer. */
static inline void tn__row_major_strides(const int64_t *shape, int32_t ndim, int64_t *strides) {
  uint64_t stride = 1;
  for (int32_t i = ndim; i-- > 0;) {
    strides[i] = (int64_t)stride;
    stride *= (uint64_t)shape[i];
  }
}

/* The size in bytes of a tensor whose elements have `bits` bits. False if a size of its shape is negative, or the result
 * exceeds PTRDIFF_MAX. */
static inline bool tn__tensor_byte_size(const DLTensor *tensor, uint64_t bits, size_t *out) {
  bool fits = true;
  for (int32_t i = 0; i < tensor->ndim; i++) {
    if (tensor->shape[i] < 0) return false;
    fits = !__builtin_mul_overflow(bits, (uint64_t)tensor->shape[i], &bits) && fits;
  }
  if (tn__is_empty(tensor)) bits = 0;
  *out = (size_t)(bits / 8 + (bits % 8 != 0));
  return (fits || tn__is_empty(tensor)) && *out <= PTRDIFF_MAX;
}

static inline void tn__tensor_free(DLManagedTensorVersioned *managed) {
  tn_memory_free(managed->dl_tensor.data);
  free(managed);
}

/* A managed tensor like the prototype over zeroed memory of `byte_size` bytes. Null without memory. */
static inline DLManagedTensorVersioned *tn__tensor_new(const DLTensor *prototype, size_t byte_size) {
  size_t ndim = prototype->ndim > 0 ? (size_t)prototype->ndim : 0;
  DLManagedTensorVersioned *managed = calloc(1, sizeof *managed + 2 * ndim * sizeof(int64_t));
  void *data = NULL;
  if (managed == NULL || tn_memory_allocate(byte_size, TN__TENSOR_ALIGNMENT, &data) != TN_OK) {
    free(managed);
    return NULL;
  }
  managed->version = (DLPackVersion){DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  managed->deleter = tn__tensor_free;
  managed->dl_tensor = *prototype;
  managed->dl_tensor.data = data;
  managed->dl_tensor.byte_offset = 0;
  managed->dl_tensor.shape = (int64_t *)(void *)(managed + 1);
  managed->dl_tensor.strides = managed->dl_tensor.shape + ndim;
  if (ndim > 0) memcpy(managed->dl_tensor.shape, prototype->shape, ndim * sizeof(int64_t));
  tn__row_major_strides(prototype->shape, prototype->ndim, managed->dl_tensor.strides);
  return managed;
}
