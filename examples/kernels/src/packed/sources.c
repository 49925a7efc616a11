/* Values of every kind of tvm-ffi, passed to a function that the caller gives. */
#include <string.h>

#include "tenon/tvm_ffi.h"

static int fail(const char *kind, const char *message) {
  TVMFFIErrorSetRaisedFromCStr(kind, message);
  return -1;
}

static int call(TVMFFIObjectHandle function, TVMFFIAny value, TVMFFIAny *result) {
  return TVMFFIFunctionCall(function, &value, 1, result);
}

/* Calls with an object, and gives it back. */
static int call_with_object(TVMFFIObjectHandle function, TVMFFIAny object, TVMFFIAny *result) {
  int status = call(function, object, result);
  TVMFFIObjectDecRef(object.v_obj);
  return status;
}

/* What a global function makes of the numbers 2 and 3. */
static int call_with_made(TVMFFIObjectHandle function, TVMFFIByteArray maker, TVMFFIAny *result) {
  TVMFFIAny numbers[2] = {{.type_index = kTVMFFIInt, .v_int64 = 2}, {.type_index = kTVMFFIInt, .v_int64 = 3}};
  TVMFFIAny made = {.type_index = kTVMFFINone};
  TVMFFIObjectHandle make;
  if (TVMFFIFunctionGetGlobal(&maker, &make) != 0) return -1;
  if (make == NULL) return fail("RuntimeError", "a global function is missing");
  int status = TVMFFIFunctionCall(make, numbers, 2, &made);
  TVMFFIObjectDecRef(make);
  return status == 0 ? call_with_object(function, made, result) : status;
}

static int call_with_tensor(TVMFFIObjectHandle function, DLTensor *like, TVMFFIAny *result) {
  TVMFFIObjectHandle tensor;
  if (TVMFFIEnvTensorAlloc(like, &tensor) != 0) return -1;
  memcpy(((DLTensor *)(void *)((TVMFFIObject *)tensor + 1))->data, like->data, 2 * sizeof(float));
  return call_with_object(function, (TVMFFIAny){.type_index = kTVMFFITensor, .v_obj = tensor}, result);
}

/* The name of what is wanted, in any form of text. */
static void read_name(const TVMFFIAny *value, char name[32]) {
  TVMFFIByteArray text = {"", 0};
  if (value->type_index == kTVMFFIRawStr) text = (TVMFFIByteArray){value->v_c_str, strlen(value->v_c_str)};
  if (value->type_index == kTVMFFISmallStr) text = (TVMFFIByteArray){value->v_bytes, value->small_str_len};
  if (value->type_index == kTVMFFIStr) text = *(const TVMFFIByteArray *)(const void *)(value->v_obj + 1);
  size_t size = text.size < 31 ? text.size : 31;
  memcpy(name, text.data, size);
  name[size] = '\0';
}

#define IS(text) (strcmp(name, text) == 0)
#define PASS(index, ...) return call(function, (TVMFFIAny){.type_index = index, __VA_ARGS__}, result)

/* Calls its second argument with the value that the first names. */
TVM_FFI_EXPORT int __tvm_ffi_pass(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  static char place;
  static float numbers[2] = {1.5, 2.5};
  int64_t shape[1] = {2}, strides[1] = {1};
  DLTensor lent = {
      .data = numbers, .device = {kDLCPU, 0}, .ndim = 1, .dtype = {kDLFloat, 32, 1}, .shape = shape, .strides = strides};
  TVMFFIByteArray bytes = {"float32", 7};
  char name[32];
  (void)self;
  if (num_args != 2 || args[1].type_index != kTVMFFIFunction) return fail("TypeError", "pass takes a name and a function");
  read_name(&args[0], name);
  TVMFFIObjectHandle function = args[1].v_obj;
  if (IS("None")) PASS(kTVMFFINone, .v_int64 = 0);
  if (IS("Int")) PASS(kTVMFFIInt, .v_int64 = 5);
  if (IS("Bool")) PASS(kTVMFFIBool, .v_int64 = 1);
  if (IS("Float")) PASS(kTVMFFIFloat, .v_float64 = 2);
  if (IS("OpaquePtr")) PASS(kTVMFFIOpaquePtr, .v_ptr = &place);
  if (IS("DataType")) PASS(kTVMFFIDataType, .v_dtype = {kDLFloat, 16, 2});
  if (IS("Device")) PASS(kTVMFFIDevice, .v_device = {kDLCUDA, 3});
  if (IS("DLTensorPtr")) PASS(kTVMFFIDLTensorPtr, .v_ptr = &lent);
  if (IS("RawStr")) PASS(kTVMFFIRawStr, .v_c_str = "float32");
  if (IS("RawStr of a device")) PASS(kTVMFFIRawStr, .v_c_str = "cuda:1");
  if (IS("ByteArrayPtr")) PASS(kTVMFFIByteArrayPtr, .v_ptr = &bytes);
  if (IS("SmallStr")) PASS(kTVMFFISmallStr, .small_str_len = 7, .v_bytes = "float32");
  if (IS("SmallStr of a device")) PASS(kTVMFFISmallStr, .small_str_len = 3, .v_bytes = "cpu");
  if (IS("SmallBytes")) PASS(kTVMFFISmallBytes, .small_str_len = 7, .v_bytes = "float32");
  if (IS("Str") || IS("Str of a device")) {
    TVMFFIByteArray text = IS("Str") ? (TVMFFIByteArray){"float8_e4m3fn", 13} : (TVMFFIByteArray){"cuda_host:2", 11};
    TVMFFIAny string;
    if (TVMFFIStringFromByteArray(&text, &string) != 0) return -1;
    return call_with_object(function, string, result);
  }
  if (IS("Function")) PASS(kTVMFFIFunction, .v_obj = function);
  if (IS("Tensor")) return call_with_tensor(function, &lent, result);
  if (IS("Shape")) return call_with_made(function, (TVMFFIByteArray){"ffi.Shape", 9}, result);
  if (IS("Array of ints")) return call_with_made(function, (TVMFFIByteArray){"ffi.Array", 9}, result);
  return fail("ValueError", "there is no such value");
}
