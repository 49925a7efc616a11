/* The functions that the files of libtvm_runtime share. */
#ifndef TENON_TVM_LEGACY_RUNTIME_H
#define TENON_TVM_LEGACY_RUNTIME_H

#include "../ffi/legacy.h"

/* function.c: calls a kernel of TVM to 0.20, as libtvm_ffi's modules do. */
int tn__legacy_call_kernel(void *kernel, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result);

/* registry.c: calls a global function. 0 and an owned result, or -1 with an error raised. */
int tn__legacy_call_global(const char *name, TVMFFIAny *args, int32_t count, TVMFFIAny *result);

/* Releases the object of an owned value, if it has one. */
static inline void tn__legacy_drop(const TVMFFIAny *owned) {
  if (owned->type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(owned->v_obj);
}

#endif
