/* Conversion of values between the two conventions. */
#ifndef TENON_TVM_CONVERT_H
#define TENON_TVM_CONVERT_H

#include "tenon/tvm_ffi.h"
#include "tenon/tvm_runtime.h"

/* An array's handle points to the DLTensor that follows the head of a tensor object of tvm-ffi. */
static inline TVMFFIObject *tn__object_of_array(TVMArrayHandle array) { return (TVMFFIObject *)(void *)array - 1; }

/* Both functions convert a borrowed view of an argument. The legacy value may point to `bytes`. 0, or -1 with an
 * error raised if the other convention has no such value. */
int tn__legacy_to_ffi(const TVMValue *value, int code, TVMFFIAny *out);
int tn__ffi_to_legacy(const TVMFFIAny *value, TVMValue *out, int *code, TVMByteArray *bytes);

#endif
