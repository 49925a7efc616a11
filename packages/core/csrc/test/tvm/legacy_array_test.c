/* Arrays, memory and streams of libtvm_runtime. */
#include "tenon/tvm_runtime.h"
#include "support.h"

TEST(tvm_legacy_arrays_are_zeroed_and_copied) {
  int64_t before = tn_tvm_live_objects(), shape[2] = {2, 3};
  TVMArrayHandle array, other;
  float numbers[6] = {1, 2, 3, 4, 5, 6}, back[6] = {0};
  CHECK(TVMArrayAlloc(shape, 2, kDLFloat, 32, 1, kDLCPU, 0, &array) == 0);
  CHECK(array->ndim == 2 && array->shape != shape && array->shape[1] == 3 && array->strides[0] == 3);
  CHECK(array->dtype.bits == 32 && (uintptr_t)array->data % 64 == 0 && array->byte_offset == 0);
  for (int i = 0; i < 6; i++) CHECK(((float *)array->data)[i] == 0);
  CHECK(TVMArrayCopyFromBytes(array, numbers, sizeof numbers) == 0);
  CHECK(TVMArrayCopyToBytes(array, back, sizeof back) == 0 && memcmp(back, numbers, sizeof back) == 0);
  CHECK(TVMArrayCopyFromBytes(array, numbers, 20) == -1);
  CHECK(raised_is("ValueError", "TVMArrayCopyFromBytes: size mismatch: the array has 24 bytes, got 20"));
  CHECK(TVMArrayCopyToBytes(array, back, 25) == -1 && raised_is("ValueError", "TVMArrayCopyToBytes: size mismatch"));
  int64_t flat[1] = {6};
  CHECK(TVMArrayAlloc(flat, 1, kDLInt, 32, 1, kDLCPU, 0, &other) == 0);
  CHECK(TVMArrayCopyFromTo(array, other, NULL) == 0 && memcmp(other->data, numbers, sizeof numbers) == 0);
  CHECK(TVMArrayFree(other) == 0);
  flat[0] = 5;
  CHECK(TVMArrayAlloc(flat, 1, kDLInt, 32, 1, kDLCPU, 0, &other) == 0);
  CHECK(TVMArrayCopyFromTo(array, other, NULL) == -1 && raised_is("ValueError", "TVMArrayCopyFromTo: size mismatch"));
  CHECK(TVMArrayFree(other) == 0 && TVMArrayFree(array) == 0 && TVMArrayFree(NULL) == 0);
  CHECK(TVMArrayAlloc(NULL, 0, kDLInt, 8, 1, kDLCPU, 0, &array) == 0);
  CHECK(array->ndim == 0 && TVMArrayCopyFromBytes(array, numbers, 1) == 0 && TVMArrayFree(array) == 0);
  flat[0] = 0;
  CHECK(TVMArrayAlloc(flat, 1, kDLInt, 8, 1, kDLCPU, 0, &array) == 0);
  CHECK(TVMArrayCopyFromBytes(array, NULL, 0) == 0 && TVMArrayFree(array) == 0);
  CHECK(tn_tvm_live_objects() == before);
}

TEST(tvm_legacy_invalid_arrays_are_refused) {
  int64_t shape[3] = {1 << 30, 1 << 30, 16}, negative[1] = {-1};
  TVMArrayHandle array;
  CHECK(TVMArrayAlloc(shape, 3, kDLFloat, 32, 1, kDLCPU, 0, &array) == -1 && raised_is("ValueError", "a shape must have"));
  CHECK(TVMArrayAlloc(negative, 1, kDLFloat, 32, 1, kDLCPU, 0, &array) == -1 && raised_is("ValueError", "a shape must have"));
  CHECK(TVMArrayAlloc(shape, -1, kDLFloat, 32, 1, kDLCPU, 0, &array) == -1 && raised_is("ValueError", "ndim must be at least 0"));
  CHECK(TVMArrayAlloc(shape, 1, kDLFloat, 256, 1, kDLCPU, 0, &array) == -1 && raised_is("ValueError", "ndim must be at least 0"));
  CHECK(TVMArrayAlloc(shape, 1, kDLFloat, 32, 0, kDLCPU, 0, &array) == -1 && raised_is("ValueError", "ndim must be at least 0"));
  CHECK(TVMArrayAlloc(shape, 1, kDLFloat, 32, 1, kDLCUDA, 0, &array) == -1);
  CHECK(raised_is("RuntimeError", "Device API of type 2 is not enabled"));
}

static int deleted;
static void count_deletion(DLManagedTensor *self) {
  (void)self;
  deleted++;
}

TEST(tvm_legacy_arrays_convert_from_and_to_dlpack) {
  int64_t before = tn_tvm_live_objects(), shape[2] = {2, 2}, strides[2] = {1, 2};
  float numbers[4] = {1, 2, 3, 4};
  DLManagedTensor managed = {
      .dl_tensor = {.data = numbers, .device = {kDLCPU, 0}, .ndim = 2, .dtype = {kDLFloat, 32, 1}, .shape = shape},
      .deleter = count_deletion};
  TVMArrayHandle array;
  DLManagedTensor *out;
  deleted = 0;
  CHECK(TVMArrayFromDLPack(&managed, &array) == 0 && array->data == numbers && array->strides[0] == 2);
  CHECK(TVMArrayToDLPack(array, &out) == 0 && out->dl_tensor.data == numbers);
  CHECK(TVMArrayFree(array) == 0 && deleted == 0);
  TVMDLManagedTensorCallDeleter(out);
  CHECK(deleted == 1);
  managed.dl_tensor.ndim = -1;
  CHECK(TVMArrayFromDLPack(&managed, &array) == -1 && raised_is("ValueError", "FromDLPack: ndim") && deleted == 1);
  /* Arrays that are not row-major cannot be copied as bytes. */
  managed.dl_tensor.ndim = 2;
  managed.dl_tensor.strides = strides;
  CHECK(TVMArrayFromDLPack(&managed, &array) == 0);
  CHECK(TVMArrayCopyToBytes(array, numbers, 16) == -1);
  CHECK(raised_is("ValueError", "TVMArrayCopyToBytes: the array must be contiguous"));
  CHECK(TVMArrayFree(array) == 0 && deleted == 2);
  managed.deleter = NULL;
  TVMDLManagedTensorCallDeleter(&managed);
  CHECK(tn_tvm_live_objects() == before);
}

TEST(tvm_legacy_device_memory_is_allocated_on_the_cpu_only) {
  DLDevice cpu = {kDLCPU, 0}, gpu = {kDLCUDA, 0};
  DLDataType dtype = {kDLFloat, 32, 1};
  void *memory;
  int64_t shape[2] = {3, 4};
  CHECK(TVMDeviceAllocDataSpace(cpu, 100, 256, dtype, &memory) == 0 && (uintptr_t)memory % 256 == 0);
  CHECK(TVMDeviceFreeDataSpace(cpu, memory) == 0);
  CHECK(TVMDeviceAllocDataSpace(cpu, 100, 0, dtype, &memory) == 0 && (uintptr_t)memory % 64 == 0);
  CHECK(TVMDeviceFreeDataSpace(cpu, memory) == 0 && TVMDeviceFreeDataSpace(cpu, NULL) == 0);
  CHECK(TVMDeviceAllocDataSpace(cpu, 100, 96, dtype, &memory) == -1 && raised_is("ValueError", "alignment must be"));
  CHECK(TVMDeviceAllocDataSpace(cpu, SIZE_MAX / 2 + 1, 64, dtype, &memory) == -1 && raised_is("MemoryError", ""));
  CHECK(TVMDeviceAllocDataSpace(gpu, 100, 64, dtype, &memory) == -1 && raised_is("RuntimeError", "Device API"));
  CHECK(TVMDeviceFreeDataSpace(gpu, NULL) == -1 && raised_is("RuntimeError", "Device API"));
  CHECK(TVMDeviceAllocDataSpaceWithScope(cpu, 2, shape, dtype, NULL, &memory) == 0);
  memset(memory, 1, 48);
  CHECK(TVMDeviceFreeDataSpace(cpu, memory) == 0);
  CHECK(TVMDeviceAllocDataSpaceWithScope(cpu, 2, shape, dtype, "global", &memory) == 0);
  CHECK(TVMDeviceFreeDataSpace(cpu, memory) == 0);
  CHECK(TVMDeviceAllocDataSpaceWithScope(cpu, 2, shape, dtype, "texture", &memory) == -1);
  CHECK(raised_is("RuntimeError", "Device does not support allocate data space with specified memory scope: texture"));
  int16_t from[4] = {1, 2, 3, 4}, to[4] = {0};
  int64_t three[1] = {3};
  DLTensor source = {.data = from, .device = cpu, .ndim = 1, .dtype = {kDLInt, 16, 1}, .shape = three, .byte_offset = 2};
  DLTensor target = {.data = to, .device = cpu, .ndim = 1, .dtype = {kDLInt, 16, 1}, .shape = three};
  CHECK(TVMDeviceCopyDataFromTo(&source, &target, NULL) == 0 && to[0] == 2 && to[2] == 4 && to[3] == 0);
  target.device = gpu;
  CHECK(TVMDeviceCopyDataFromTo(&source, &target, NULL) == -1 && raised_is("RuntimeError", "Device API"));
}

TEST(tvm_legacy_streams_are_shared_with_tvm_ffi) {
  TVMStreamHandle stream = &stream;
  CHECK(TVMStreamCreate(kDLCPU, 0, &stream) == 0 && stream == NULL);
  CHECK(TVMSynchronize(kDLCPU, 0, stream) == 0 && TVMStreamStreamSynchronize(kDLCPU, 0, stream, stream) == 0);
  CHECK(TVMStreamFree(kDLCPU, 0, stream) == 0);
  CHECK(TVMSetStream(kDLCUDA, 3, &stream) == 0 && TVMFFIEnvGetStream(kDLCUDA, 3) == &stream);
  CHECK(TVMSetStream(kDLCUDA, 3, NULL) == 0 && TVMFFIEnvGetStream(kDLCUDA, 3) == NULL);
  CHECK(TVMStreamCreate(kDLCUDA, 0, &stream) == -1 && raised_is("RuntimeError", "Device API"));
  CHECK(TVMStreamFree(kDLCUDA, 0, NULL) == -1 && raised_is("RuntimeError", "Device API"));
  CHECK(TVMSynchronize(kDLCUDA, 0, NULL) == -1 && raised_is("RuntimeError", "Device API"));
  CHECK(TVMStreamStreamSynchronize(kDLCUDA, 0, NULL, NULL) == -1 && raised_is("RuntimeError", "Device API"));
}
