/* What kernels that TVM compiled need around tvm-ffi. */
#ifndef TENON_PACKED_BACKEND_H
#define TENON_PACKED_BACKEND_H

#include "tenon/tvm_backend.h"

/* Tells the bound library which functions to write into the variables of kernels. Returns a status. */
int32_t tn__register_backend(void);

#endif
