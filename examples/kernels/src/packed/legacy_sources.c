/* Values of every type code of TVM to 0.20, passed to a function of the caller. */
#include <string.h>

#include "legacy.h"
#include "tenon/tvm_ffi.h"

TVM_RUNTIME_EXPORT void *__tvm_module_ctx;

static int call(TVMFunctionHandle function, TVMValue value, int code, TVMValue *ret, int *ret_code) {
  return TVMFuncCall(function, &value, &code, 1, ret, ret_code);
}

#define IS(name) (strcmp(args[0].v_str, name) == 0)
#define PASS(member, value, code) return call(function, (TVMValue){.member = value}, code, ret, ret_code)

/* Calls its second argument with the value that the first one names. */
PACKED(pass) {
  static char place;
  static float numbers[2] = {1.5, 2.5};
  if (num_args != 2 || codes[0] != kTVMStr || codes[1] != kTVMPackedFuncHandle)
    return fail("TypeError: pass takes a name and a function");
  TVMFunctionHandle function = args[1].v_handle;
  if (IS("int 5")) PASS(v_int64, 5, kTVMArgInt);
  if (IS("int 2^40")) PASS(v_int64, (int64_t)1 << 40, kTVMArgInt);
  if (IS("int -1")) PASS(v_int64, -1, kTVMArgInt);
  if (IS("bool (code 15)")) PASS(v_int64, 1, kTVMArgBool);
  if (IS("float 2.5")) PASS(v_float64, 2.5, kTVMArgFloat);
  if (IS("null")) PASS(v_handle, NULL, kTVMNullptr);
  if (IS("opaque handle")) PASS(v_handle, &place, kTVMOpaqueHandle);
  if (IS("str")) PASS(v_str, "float32", kTVMStr);
  if (IS("dtype")) PASS(v_type, ((DLDataType){kDLFloat, 16, 2}), kTVMDataType);
  if (IS("device")) PASS(v_device, ((DLDevice){kDLCUDA, 3}), kDLDevice);
  if (IS("PackedFunc")) PASS(v_handle, function, kTVMPackedFuncHandle);
  if (IS("bytes")) {
    TVMByteArray bytes = {"bytes", 5};
    PASS(v_handle, &bytes, kTVMBytes);
  }
  int64_t shape[1] = {2};
  if (IS("DLTensor*")) {
    DLTensor lent = {numbers, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, NULL, 0};
    PASS(v_handle, &lent, kTVMDLTensorHandle);
  }
  if (IS("NDArray")) {
    TVMArrayHandle array;
    if (TVMArrayAlloc(shape, 1, kDLFloat, 32, 1, kDLCPU, 0, &array) != 0) return -1;
    int status = TVMArrayCopyFromBytes(array, numbers, sizeof numbers);
    if (status == 0) status = call(function, (TVMValue){.v_handle = array}, kTVMNDArrayHandle, ret, ret_code);
    TVMArrayFree(array);
    return status;
  }
  if (IS("runtime.String")) {
    TVMFFIByteArray text = {"float8_e4m3fn", 13};
    TVMFFIAny string;
    if (TVMFFIStringFromByteArray(&text, &string) != 0) return -1;
    int status = call(function, (TVMValue){.v_handle = string.v_obj}, kTVMObjectHandle, ret, ret_code);
    TVMObjectFree(string.v_obj);
    return status;
  }
  return fail("ValueError: the name of the value is unknown");
}

static int give_back(TVMValue *args, int *codes, int num_args, TVMRetValueHandle ret, UNUSED void *resource) {
  return TVMCFuncSetReturn(ret, args, codes, num_args);
}

/* Returns a function that returns its argument. */
PACKED(make_give_back) {
  *ret_code = kTVMPackedFuncHandle;
  return TVMFuncCreateFromCFunc(give_back, NULL, NULL, &ret->v_handle);
}
