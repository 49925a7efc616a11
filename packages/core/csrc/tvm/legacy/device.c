/* Devices: CPU memory, and streams. */
#include "error.h"
#include "tvm/tensor.h"
#include "runtime.h"

int tn__expect_cpu(int device_type) {
  if (device_type == kDLCPU) return 0;
  return tn__legacy_raise("RuntimeError", "Device API of type %d is not enabled: only the CPU is supported (type %d)",
                          device_type, kDLCPU);
}

int tn__tensor_size(const DLTensor *tensor, size_t *out) {
  /* Each element takes whole bytes. */
  const uint64_t bits = ((uint64_t)tensor->dtype.bits * tensor->dtype.lanes + 7) / 8 * 8;
  if (tn__tensor_byte_size(tensor, bits, out)) return 0;
  return tn__legacy_raise("ValueError", "a shape must have sizes of at least 0 and fit into the address space");
}

int tn__tensor_bytes(const char *function, const DLTensor *tensor, size_t byte_size, void **out) {
  size_t size;
  if (tn__expect_cpu(tensor->device.device_type) != 0 || tn__tensor_size(tensor, &size) != 0) return -1;
  if (size != byte_size)
    return tn__legacy_raise("ValueError", "%s: size mismatch: the array has %zu bytes, got %zu", function, size,
                            byte_size);
  if (!tn__is_row_major(tensor)) return tn__legacy_raise("ValueError", "%s: the array must be contiguous", function);
  *out = (char *)tensor->data + tensor->byte_offset;
  return 0;
}

int tn__tensor_copy(const char *function, const DLTensor *from, const DLTensor *to) {
  size_t size;
  void *source, *target;
  if (tn__tensor_size(from, &size) != 0 || tn__tensor_bytes(function, from, size, &source) != 0) return -1;
  if (tn__tensor_bytes(function, to, size, &target) != 0) return -1;
  if (size > 0) memmove(target, source, size);
  return 0;
}

int TVMDeviceAllocDataSpace(DLDevice device, size_t byte_size, size_t alignment, DLDataType hint, void **out) {
  (void)hint;
  if (tn__expect_cpu(device.device_type) != 0) return tn__legacy_note_error();
  if (alignment < TN__TENSOR_ALIGNMENT) alignment = TN__TENSOR_ALIGNMENT;
  if ((alignment & (alignment - 1)) != 0)
    return tn__legacy_fail("ValueError", "alignment must be a power of two, got %zu", alignment);
  if (tn_memory_allocate(byte_size, alignment, out) == TN_OK) return 0;
  return tn__legacy_fail("MemoryError", "out of memory for %zu bytes", byte_size);
}

int TVMDeviceAllocDataSpaceWithScope(DLDevice device, int ndim, const int64_t *shape, DLDataType dtype,
                                     const char *mem_scope, void **out) {
  size_t size;
  const DLTensor like = {.ndim = ndim, .dtype = dtype, .shape = (int64_t *)(uintptr_t)shape};
  if (mem_scope != NULL && mem_scope[0] != '\0' && strcmp(mem_scope, "global") != 0)
    return tn__legacy_fail("RuntimeError",
                           "Device does not support allocate data space with specified memory scope: %s", mem_scope);
  if (tn__tensor_size(&like, &size) != 0) return tn__legacy_note_error();
  return TVMDeviceAllocDataSpace(device, size, TN__TENSOR_ALIGNMENT, dtype, out);
}

int TVMDeviceFreeDataSpace(DLDevice device, void *memory) {
  if (tn__expect_cpu(device.device_type) != 0) return tn__legacy_note_error();
  tn_memory_free(memory);
  return 0;
}

int TVMDeviceCopyDataFromTo(DLTensor *from, DLTensor *to, TVMStreamHandle stream) {
  (void)stream;
  return tn__legacy_end(tn__tensor_copy("TVMDeviceCopyDataFromTo", from, to));
}

/* --- streams: the CPU has one, which is null and never has pending work ------------------------------------------- */

int TVMStreamCreate(int device_type, int device_id, TVMStreamHandle *out) {
  (void)device_id;
  *out = NULL;
  return tn__legacy_end(tn__expect_cpu(device_type));
}

int TVMStreamFree(int device_type, int device_id, TVMStreamHandle stream) {
  (void)device_id, (void)stream;
  return tn__legacy_end(tn__expect_cpu(device_type));
}

int TVMSetStream(int device_type, int device_id, TVMStreamHandle stream) {
  return tn__legacy_end(TVMFFIEnvSetStream(device_type, device_id, stream, NULL));
}

int TVMSynchronize(int device_type, int device_id, TVMStreamHandle stream) {
  (void)device_id, (void)stream;
  return tn__legacy_end(tn__expect_cpu(device_type));
}

int TVMStreamStreamSynchronize(int device_type, int device_id, TVMStreamHandle source, TVMStreamHandle target) {
  (void)device_id, (void)source, (void)target;
  return tn__legacy_end(tn__expect_cpu(device_type));
}
