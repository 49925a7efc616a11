/* Values of every type of tvm-ffi, passed to a function of the caller. */
#include <string.h>

#include "ffi.h"

static int call(TVMFFIObjectHandle function, TVMFFIAny value, TVMFFIAny *result) {
  return TVMFFIFunctionCall(function, &value, 1, result);
}

/* Calls the function with an object, and releases the object. */
static int call_with_object(TVMFFIObjectHandle function, TVMFFIAny object, TVMFFIAny *result) {
  int status = call(function, object, result);
  TVMFFIObjectDecRef(object.v_obj);
  return status;
}

/* Calls the function with the object that the global function `maker` makes of the numbers 2 and 3. */
static int call_with_made(TVMFFIObjectHandle function, TVMFFIByteArray maker, TVMFFIAny *result) {
  TVMFFIAny numbers[2] = {{.type_index = kTVMFFIInt, .v_int64 = 2}, {.type_index = kTVMFFIInt, .v_int64 = 3}};
  TVMFFIAny made = {.type_index = kTVMFFINone};
  TVMFFIObjectHandle make;
  if (TVMFFIFunctionGetGlobal(&maker, &make) != 0) return -1;
  if (make == NULL) return fail("RuntimeError", "the global function is not registered");
  int status = TVMFFIFunctionCall(make, numbers, 2, &made);
  TVMFFIObjectDecRef(make);
  return status == 0 ? call_with_object(function, made, result) : status;
}

static int call_with_tensor(TVMFFIObjectHandle function, DLTensor *like, TVMFFIAny *result) {
  TVMFFIObjectHandle tensor;
  if (TVMFFIEnvTensorAlloc(like, &tensor) != 0) return -1;
  memcpy(TVMFFITensorGetDLTensorPtr(tensor)->data, like->data, 2 * sizeof(float));
  return call_with_object(function, (TVMFFIAny){.type_index = kTVMFFITensor, .v_obj = tensor}, result);
}

/* Reads a name, cut to 31 bytes, from text in any of its forms. */
static void read_name(const TVMFFIAny *value, char name[32]) {
  TVMFFIByteArray text = {"", 0};
  if (value->type_index == kTVMFFIRawStr) text = (TVMFFIByteArray){value->v_c_str, strlen(value->v_c_str)};
  if (value->type_index == kTVMFFISmallStr) text = (TVMFFIByteArray){value->v_bytes, value->small_str_len};
  if (value->type_index == kTVMFFIStr) text = *TVMFFIBytesGetByteArrayPtr(value->v_obj);
  size_t size = text.size < 31 ? text.size : 31;
  memcpy(name, text.data, size);
  name[size] = '\0';
}

#define IS(text) (strcmp(name, text) == 0)
#define PASS(index, ...) return call(function, (TVMFFIAny){.type_index = index, __VA_ARGS__}, result)

/* Calls its second argument with the value that the first one names. */
PACKED(__tvm_ffi_pass) {
  static char place;
  static float numbers[2] = {1.5, 2.5};
  int64_t shape[1] = {2}, strides[1] = {1};
  DLTensor lent = {numbers, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, strides, 0};
  TVMFFIByteArray bytes = {"float32", 7};
  char name[32];
  if (num_args != 2 || args[1].type_index != kTVMFFIFunction)
    return fail("TypeError", "pass takes a name and a function");
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
    TVMFFIAny string;
    if (give_string(&string, IS("Str") ? "float8_e4m3fn" : "cuda_host:2", IS("Str") ? 13 : 11) != 0) return -1;
    return call_with_object(function, string, result);
  }
  if (IS("Function")) PASS(kTVMFFIFunction, .v_obj = function);
  if (IS("Tensor")) return call_with_tensor(function, &lent, result);
  if (IS("Shape")) return call_with_made(function, (TVMFFIByteArray){"ffi.Shape", 9}, result);
  if (IS("Array of ints")) return call_with_made(function, (TVMFFIByteArray){"ffi.Array", 9}, result);
  return fail("ValueError", "the name of the value is unknown");
}
