#include <stdlib.h>

#include "support.h"
#include "tenon/tvm_runtime.h"
#include "raised.h"

static int deletions;

static void delete_plain(DLManagedTensor *self) {
  deletions++;
  free(self);
}

static void delete_versioned(DLManagedTensorVersioned *self) {
  deletions++;
  free(self);
}

static int64_t shape[2] = {2, 3};
static int64_t odd_strides[2] = {1, 2};
static float data[6] __attribute__((aligned(64)));

static DLTensor tensor_of(int64_t *strides, uint64_t byte_offset) {
  return (DLTensor){data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, strides, byte_offset};
}

TEST(tvm_tensors_convert_from_and_to_dlpack) {
  int64_t before = tn_tvm_live_objects();
  DLManagedTensor *plain = calloc(1, sizeof *plain), *out;
  DLManagedTensorVersioned *versioned;
  TVMFFIObjectHandle tensor;
  deletions = 0;
  *plain = (DLManagedTensor){tensor_of(NULL, 0), NULL, delete_plain};
  CHECK(TVMFFITensorFromDLPack(plain, 64, 1, &tensor) == 0);
  const DLTensor *inside = (const DLTensor *)(const void *)((TVMFFIObject *)tensor + 1);
  CHECK(inside->data == data && inside->strides[0] == 3 && inside->strides[1] == 1);
  CHECK(TVMFFITensorToDLPack(tensor, &out) == 0 && out->dl_tensor.data == data);
  CHECK(TVMFFITensorToDLPackVersioned(tensor, &versioned) == 0 && versioned->version.major == 1);
  TVMFFIObjectDecRef(tensor);
  CHECK(deletions == 0); /* the exported tensors retain it */
  out->deleter(out);
  versioned->deleter(versioned);
  CHECK(deletions == 1);
  CHECK(tn_tvm_live_objects() == before);
}

TEST(tvm_read_only_stays_read_only) {
  DLManagedTensorVersioned *in = calloc(1, sizeof *in), *out;
  TVMFFIObjectHandle tensor;
  *in = (DLManagedTensorVersioned){{1, 1}, NULL, delete_versioned, DLPACK_FLAG_BITMASK_READ_ONLY, tensor_of(NULL, 0)};
  CHECK(TVMFFITensorFromDLPackVersioned(in, 0, 0, &tensor) == 0);
  CHECK(TVMFFITensorToDLPackVersioned(tensor, &out) == 0);
  CHECK(out->flags == DLPACK_FLAG_BITMASK_READ_ONLY);
  out->deleter(out);
  TVMFFIObjectDecRef(tensor);
}

TEST(tvm_a_refused_tensor_is_not_consumed) {
  DLManagedTensorVersioned in = {{1, 1}, NULL, delete_versioned, 0, tensor_of(NULL, 4)};
  DLManagedTensor plain = {tensor_of(odd_strides, 0), NULL, delete_plain};
  TVMFFIObjectHandle tensor = NULL;
  deletions = 0;
  CHECK(TVMFFITensorFromDLPackVersioned(&in, 64, 0, &tensor) != 0);
  CHECK(raised_is("RuntimeError", "FromDLPack: Data is not aligned to 64 bytes."));
  CHECK(TVMFFITensorFromDLPack(&plain, 0, 1, &tensor) != 0);
  CHECK(raised_is("RuntimeError", "FromDLPack: Tensor is not contiguous."));
  in.flags = DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
  CHECK(TVMFFITensorFromDLPackVersioned(&in, 0, 0, &tensor) != 0);
  CHECK(raised_is("RuntimeError", "Subbyte type padded is not yet supported"));
  CHECK(deletions == 0 && tensor == NULL);
}

TEST(tvm_a_tensor_without_elements_is_contiguous) {
  int64_t empty[2] = {0, 3};
  DLManagedTensor *plain = calloc(1, sizeof *plain);
  TVMFFIObjectHandle tensor;
  *plain = (DLManagedTensor){tensor_of(odd_strides, 0), NULL, delete_plain};
  plain->dl_tensor.shape = empty;
  CHECK(TVMFFITensorFromDLPack(plain, 0, 1, &tensor) == 0);
  TVMFFIObjectDecRef(tensor);
}

TEST(tvm_a_tensor_without_elements_may_have_any_other_sizes) {
  const int64_t far = (int64_t)1 << 40;
  int64_t shapes[2][3] = {{0, far, far}, {far, far, 0}};
  CHECK(bind_ffi());
  for (int i = 0; i < 2; i++) {
    DLManagedTensor *plain = calloc(1, sizeof *plain);
    TVMFFIObjectHandle tensor;
    *plain = (DLManagedTensor){{data, {kDLCPU, 0}, 3, {kDLFloat, 32, 1}, shapes[i], NULL, 0}, NULL, delete_plain};
    CHECK(TVMFFITensorFromDLPack(plain, 0, 1, &tensor) == 0);
    const DLTensor *inside = (const DLTensor *)(const void *)((TVMFFIObject *)tensor + 1);
    CHECK(inside->strides[2] == 1);
    TVMFFIObjectDecRef(tensor);
    CHECK(tn_packed_install_allocator() == TN_OK);
    CHECK(TVMFFIEnvTensorAlloc(&(DLTensor){.device = {kDLCPU, 0}, .ndim = 3, .dtype = {kDLFloat, 32, 1}, .shape = shapes[i]}, &tensor) == 0);
    TVMFFIObjectDecRef(tensor);
    TVMArrayHandle array;
    CHECK(TVMArrayAlloc(shapes[i], 3, kDLFloat, 32, 1, kDLCPU, 0, &array) == 0 && TVMArrayFree(array) == 0);
  }
  TVMFFIEnvSetDLPackManagedTensorAllocator(NULL, 1, NULL);
}

TEST(tvm_a_view_uses_the_given_data_and_offset_and_retains_its_source) {
  DLManagedTensor *plain = calloc(1, sizeof *plain);
  TVMFFIObjectHandle source, view;
  deletions = 0;
  *plain = (DLManagedTensor){tensor_of(NULL, 0), NULL, delete_plain};
  CHECK(TVMFFITensorFromDLPack(plain, 0, 0, &source) == 0);
  DLTensor prototype = tensor_of(odd_strides, 0);
  CHECK(TVMFFITensorCreateUnsafeView(source, &prototype, &view) == 0);
  TVMFFIObjectDecRef(source);
  const DLTensor *inside = (const DLTensor *)(const void *)((TVMFFIObject *)view + 1);
  CHECK(inside->data == prototype.data && inside->byte_offset == prototype.byte_offset);
  CHECK(deletions == 0 && inside->strides[1] == 2 && inside->strides != odd_strides);
  TVMFFIObjectDecRef(view);
  CHECK(deletions == 1);
  prototype.strides = NULL;
  CHECK(TVMFFITensorCreateUnsafeView(source, &prototype, &view) != 0);
  CHECK(raised_is("InternalError", "the prototype of a view must have strides"));
}

TEST(tvm_element_types_have_names) {
  static const struct {
    const char *text, *canonical;
    DLDataType type;
  } rows[] = {
      {"float32", "float32", {kDLFloat, 32, 1}},
      {"f16x4", "float16x4", {kDLFloat, 16, 4}},
      {"int", "int32", {kDLInt, 32, 1}},
      {"u8", "uint8", {kDLUInt, 8, 1}},
      {"bf16", "bfloat16", {kDLBfloat, 16, 1}},
      {"bool", "bool", {kDLBool, 8, 1}},
      {"bool1", "bool1", {kDLBool, 1, 1}},
      {"handle", "handle", {kDLOpaqueHandle, 64, 1}},
      {"", "", {kDLOpaqueHandle, 0, 0}},
      {"void", "", {kDLOpaqueHandle, 0, 0}},
      {"float8_e4m3fnx2", "float8_e4m3fnx2", {kDLFloat8_e4m3fn, 8, 2}},
      {"fp8_e5m2", "float8_e5m2", {kDLFloat8_e5m2, 8, 1}},
      {"float4_e2m1fn_x2", "float4_e2m1fnx2", {kDLFloat4_e2m1fn, 4, 2}},
      {"int32xvscalex4", "int32xvscalex4", {kDLInt, 32, (uint16_t)-4}},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    TVMFFIByteArray span = span_of(rows[i].text);
    DLDataType type;
    TVMFFIAny text;
    CHECK(TVMFFIDataTypeFromString(&span, &type) == 0);
    CHECK(memcmp(&type, &rows[i].type, sizeof type) == 0);
    CHECK(TVMFFIDataTypeToString(&type, &text) == 0);
    const TVMFFIByteArray *cell = (const TVMFFIByteArray *)(const void *)(text.v_obj + 1);
    const char *written = text.type_index == kTVMFFISmallStr ? text.v_bytes : cell->data;
    CHECK(strcmp(written, rows[i].canonical) == 0);
    if (text.type_index == kTVMFFIStr) TVMFFIObjectDecRef(text.v_obj);
  }
}

TEST(tvm_invalid_element_types_are_value_errors) {
  static const char *const bad[] = {"flot32", "float32x", "float32x0", "int32x70000", "int300", "float8_e9m9", "x",
                                    "float32 ", "int99999999999999999999"};
  DLDataType type;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    TVMFFIByteArray span = span_of(bad[i]);
    CHECK(TVMFFIDataTypeFromString(&span, &type) != 0);
    CHECK(raised_is("ValueError", ""));
  }
  TVMFFIByteArray span = span_of("flot32");
  CHECK(TVMFFIDataTypeFromString(&span, &type) != 0);
  CHECK(raised_is("ValueError", "unknown dtype `flot32`"));
}
