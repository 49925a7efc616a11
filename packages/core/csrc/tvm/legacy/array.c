/* Arrays: tensor objects of tvm-ffi, whose handles point to the DLTensor inside. */
#include <stdlib.h>
#include <string.h>

#include "convert.h"
#include "device.h"
#include "error.h"
#include "tenon.h"

static void release_managed(DLManagedTensorVersioned *managed) {
  tn_memory_free(managed->dl_tensor.data);
  free(managed);
}

/* A managed tensor of this shape with zeroed memory. Null with an error raised. */
static DLManagedTensorVersioned *allocate(const int64_t *shape, int ndim, DLDataType dtype) {
  size_t byte_size, rank = (size_t)ndim;
  DLTensor like = {.ndim = ndim, .dtype = dtype, .shape = (int64_t *)(uintptr_t)shape};
  if (tn__tensor_size(&like, &byte_size) != 0) return NULL;
  DLManagedTensorVersioned *made = calloc(1, sizeof *made + rank * sizeof *shape);
  if (made == NULL || tn_memory_allocate(byte_size, TN__ARRAY_ALIGNMENT, &made->dl_tensor.data) != TN_OK) {
    free(made);
    tn__legacy_raise("MemoryError", "out of memory for an array of %zu bytes", byte_size);
    return NULL;
  }
  made->version = (DLPackVersion){DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  made->deleter = release_managed;
  made->dl_tensor.device = (DLDevice){kDLCPU, 0};
  made->dl_tensor.ndim = ndim;
  made->dl_tensor.dtype = dtype;
  made->dl_tensor.shape = (int64_t *)(void *)(made + 1);
  if (rank > 0) memcpy(made->dl_tensor.shape, shape, rank * sizeof *shape);
  return made;
}

int TVMArrayAlloc(const int64_t *shape, int ndim, int dtype_code, int dtype_bits, int dtype_lanes, int device_type,
                  int device_id, TVMArrayHandle *out) {
  if (ndim < 0 || dtype_bits < 1 || dtype_bits > 255 || dtype_lanes < 1 || dtype_lanes > 65535)
    return tn__legacy_fail("ValueError", "ndim must be at least 0, bits 1 to 255 and lanes 1 to 65535, got %d, %d and %d",
                           ndim, dtype_bits, dtype_lanes);
  if (tn__expect_cpu(device_type) != 0) return tn__legacy_note_error();
  DLDataType dtype = {(uint8_t)dtype_code, (uint8_t)dtype_bits, (uint16_t)dtype_lanes};
  DLManagedTensorVersioned *managed = allocate(shape, ndim, dtype);
  if (managed == NULL) return tn__legacy_note_error();
  managed->dl_tensor.device.device_id = device_id;
  TVMFFIObjectHandle object;
  if (TVMFFITensorFromDLPackVersioned(managed, 0, 0, &object) != 0) {
    release_managed(managed);
    return tn__legacy_note_error();
  }
  *out = TVMFFITensorGetDLTensorPtr(object);
  return 0;
}

int TVMArrayFree(TVMArrayHandle array) { return array == NULL ? 0 : TVMFFIObjectDecRef(tn__object_of_array(array)); }

int TVMArrayCopyFromBytes(TVMArrayHandle array, void *data, size_t byte_size) {
  void *start;
  if (tn__tensor_bytes("TVMArrayCopyFromBytes", array, byte_size, &start) != 0) return tn__legacy_note_error();
  if (byte_size > 0) memcpy(start, data, byte_size);
  return 0;
}

int TVMArrayCopyToBytes(TVMArrayHandle array, void *data, size_t byte_size) {
  void *start;
  if (tn__tensor_bytes("TVMArrayCopyToBytes", array, byte_size, &start) != 0) return tn__legacy_note_error();
  if (byte_size > 0) memcpy(data, start, byte_size);
  return 0;
}

int TVMArrayCopyFromTo(TVMArrayHandle from, TVMArrayHandle to, TVMStreamHandle stream) {
  (void)stream;
  return tn__legacy_end(tn__tensor_copy("TVMArrayCopyFromTo", from, to));
}

int TVMArrayFromDLPack(DLManagedTensor *from, TVMArrayHandle *out) {
  TVMFFIObjectHandle object;
  if (TVMFFITensorFromDLPack(from, 0, 0, &object) != 0) return tn__legacy_note_error();
  *out = TVMFFITensorGetDLTensorPtr(object);
  return 0;
}

int TVMArrayToDLPack(TVMArrayHandle from, DLManagedTensor **out) {
  return tn__legacy_end(TVMFFITensorToDLPack(tn__object_of_array(from), out));
}

void TVMDLManagedTensorCallDeleter(DLManagedTensor *managed) {
  if (managed->deleter != NULL) managed->deleter(managed);
}
