/* A library as the compilers of TVM 0.22 to 0.25 make it. */
#include "compiled.h"

TVM_FFI_EXPORT void *__tvm_ffi__library_ctx;
TVM_FFI_EXPORT int (*__TVMBackendGetFuncFromEnv)(void *, const char *, void **);

TVM_FFI_EXPORT int __tvm_ffi_square_neighbours(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  (void)self, (void)result;
  return square_neighbours(args, num_args);
}

/* Calls the global function `test.compiled.helper` of the process. */
TVM_FFI_EXPORT int __tvm_ffi_main(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  (void)self;
  void *function;
  if (__TVMBackendGetFuncFromEnv(__tvm_ffi__library_ctx, "test.compiled.helper", &function) != 0) return -1;
  return __TVMFFIFunctionCall(function, (TVMFFIAny *)(uintptr_t)args, num_args, result);
}
