/* The functions of libtvm_ffi that libtvm_runtime and libtenon_packed use besides the public ones. */
#pragma once

#include "tenon/tvm_ffi.h"

/* Calls a kernel of TVM to 0.20 with arguments of tvm-ffi. */
typedef int (*tn_tvm_legacy_caller_t)(void *kernel, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result);

/* module.c: sets the function by which modules call such kernels. */
TVM_FFI_EXPORT void tn_tvm_set_legacy_caller(tn_tvm_legacy_caller_t caller);

/* type.c: the type of an index, or null. */
TVM_FFI_EXPORT const TVMFFITypeInfo *tn_tvm_find_type(int32_t type_index);

/* error.c: the slot of the calling thread's raised error, valid until the end of the thread. */
TVM_FFI_EXPORT TVMFFIObjectHandle *tn_tvm_raised_slot(void);
