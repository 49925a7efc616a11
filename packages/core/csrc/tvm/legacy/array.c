/* Arrays: tensor objects of tvm-ffi, whose handles point to the DLTensor inside. */
#include "error.h"
#include "tvm/tensor.h"
#include "runtime.h"

int TVMArrayAlloc(const int64_t *shape, int ndim, int dtype_code, int dtype_bits, int dtype_lanes, int device_type,
                  int device_id, TVMArrayHandle *out) {
  if (ndim < 0 || dtype_bits < 1 || dtype_bits > 255 || dtype_lanes < 1 || dtype_lanes > 65535)
    return tn__legacy_fail("ValueError",
                           "ndim must be at least 0, bits 1 to 255 and lanes 1 to 65535, got %d, %d and %d", ndim,
                           dtype_bits, dtype_lanes);
  if (tn__expect_cpu(device_type) != 0) return tn__legacy_note_error();
  const DLTensor like = {.device = {kDLCPU, device_id},
                         .ndim = ndim,
                         .dtype = {(uint8_t)dtype_code, (uint8_t)dtype_bits, (uint16_t)dtype_lanes},
                         .shape = (int64_t *)(uintptr_t)shape};
  size_t byte_size;
  if (tn__tensor_size(&like, &byte_size) != 0) return tn__legacy_note_error();
  DLManagedTensorVersioned *managed = tn__tensor_new(&like, byte_size);
  if (managed == NULL) return tn__legacy_fail("MemoryError", "out of memory for an array of %zu bytes", byte_size);
  TVMFFIObjectHandle object;
  if (TVMFFITensorFromDLPackVersioned(managed, 0, 0, &object) != 0) {
    tn__tensor_free(managed);
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
