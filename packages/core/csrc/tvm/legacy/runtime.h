/* What libtvm_runtime and libtvm_ffi know of each other, and what the files of the first share. */
#ifndef TENON_TVM_LEGACY_RUNTIME_H
#define TENON_TVM_LEGACY_RUNTIME_H

#include "tenon/tvm_ffi.h"

/* Calls a kernel of TVM to 0.20 with arguments of tvm-ffi. */
typedef int (*tn_tvm_legacy_caller_t)(void *kernel, void *module, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result);

/* Of libtvm_ffi: its modules call such kernels from now on. */
void tn_tvm_set_legacy_caller(tn_tvm_legacy_caller_t caller);

/* Of libtvm_ffi: the type of an index, or null. */
const TVMFFITypeInfo *tn_tvm_find_type(int32_t type_index);

/* Of libtvm_runtime: makes the two work together. 0, or -1 with an error raised. */
TVM_FFI_EXPORT int32_t tn_tvm_legacy_install(void);

int tn_tvm_call_legacy(void *kernel, void *module, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result);

/* registry.c: calls a global function. 0 and an owned result, or -1 with an error raised. */
int tn__legacy_call_global(const char *name, TVMFFIAny *args, int32_t count, TVMFFIAny *result);

#endif
