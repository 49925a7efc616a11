/* A library as the compilers of TVM from 0.26 on make it. */
#include "compiled.h"

TVM_FFI_EXPORT void *__tvm_ffi__library_ctx;
TVM_FFI_EXPORT int (*__TVMFFIEnvModLookupFromImports)(TVMFFIObjectHandle, const char *, TVMFFIObjectHandle *);
TVM_FFI_EXPORT int (*__TVMFFIHandleInitOnce)(void **, int (*)(void **));

TVM_FFI_EXPORT int __tvm_ffi_square_neighbours(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  (void)self, (void)result;
  return square_neighbours(args, num_args);
}

static int count;

static int prepare(void **result) {
  count++;
  *result = &count;
  return 0;
}

/* How often something that is prepared once was prepared. */
TVM_FFI_EXPORT int __tvm_ffi_prepared(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  static void *handle;
  (void)self, (void)args, (void)num_args;
  if (__TVMFFIHandleInitOnce(&handle, prepare) != 0) return -1;
  *result = (TVMFFIAny){.type_index = kTVMFFIInt, .v_int64 = *(int *)handle};
  return 0;
}

/* Calls the function `test.compiled.helper` of an imported module, or the global one. */
TVM_FFI_EXPORT int __tvm_ffi_main(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  (void)self;
  TVMFFIObjectHandle function;
  if (__TVMFFIEnvModLookupFromImports(__tvm_ffi__library_ctx, "test.compiled.helper", &function) != 0) return -1;
  return __TVMFFIFunctionCall(function, (TVMFFIAny *)(uintptr_t)args, num_args, result);
}
