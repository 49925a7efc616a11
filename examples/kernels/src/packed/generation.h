/* The symbols of libraries as the compiler of TVM 0.21 (TVM_GENERATION 21), the compilers of 0.22 to 0.25 (22), and
 * those from 0.26 on (26) name them. */
#ifndef TENON_KERNELS_GENERATION_H
#define TENON_KERNELS_GENERATION_H

#include "ffi.h"

#if TVM_GENERATION == 21
#define LIBRARY_CONTEXT __tvm_ffi_library_ctx
#define LIBRARY_BIN __tvm_ffi_library_bin
#define ENTRY __tvm_main__
#define SYMBOL(name) name
#else
#define LIBRARY_CONTEXT __tvm_ffi__library_ctx
#define LIBRARY_BIN __tvm_ffi__library_bin
#define ENTRY __tvm_ffi_main
#define SYMBOL(name) __tvm_ffi_##name
#endif

#if TVM_GENERATION < 26
#define LOOK_UP __TVMBackendGetFuncFromEnv
#else
#define LOOK_UP __TVMFFIEnvModLookupFromImports
#endif

/* The loader fills these variables. LOOK_UP finds a function of an imported module, or a global function. */
TVM_FFI_EXPORT void *LIBRARY_CONTEXT;
TVM_FFI_EXPORT int (*LOOK_UP)(void *, const char *, void **);

#endif
