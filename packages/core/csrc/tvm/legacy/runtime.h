/* What libtvm_runtime and libtvm_ffi know of each other. */
#ifndef TENON_TVM_LEGACY_RUNTIME_H
#define TENON_TVM_LEGACY_RUNTIME_H

#include "tenon/tvm_ffi.h"

/* Calls a kernel of TVM to 0.20 with arguments of tvm-ffi. */
typedef int (*tn_tvm_legacy_caller_t)(void *kernel, void *module, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result);

/* Of libtvm_ffi: its modules call such kernels from now on. */
void tn_tvm_set_legacy_caller(tn_tvm_legacy_caller_t caller);

/* Of libtvm_runtime: makes the two work together. 0, or -1 with an error raised. */
TVM_FFI_EXPORT int32_t tn_tvm_legacy_install(void);

int tn_tvm_call_legacy(void *kernel, void *module, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result);

#endif
