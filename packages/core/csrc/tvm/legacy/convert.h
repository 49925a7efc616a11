/* Values of the two conventions. */
#ifndef TENON_TVM_CONVERT_H
#define TENON_TVM_CONVERT_H

#include "tenon/tvm_ffi.h"
#include "tenon/tvm_runtime.h"

/* An array's handle is its DLTensor, which lies in a tensor object of tvm-ffi after the head. */
static inline TVMFFIObject *tn__object_of_array(TVMArrayHandle array) { return (TVMFFIObject *)(void *)array - 1; }
static inline TVMArrayHandle tn__array_of_object(TVMFFIObject *object) { return (TVMArrayHandle)(void *)(object + 1); }

/* Both views of an argument, borrowed. `bytes` is room that the legacy value may point at, for as long as it is used. 0, or
 * -1 with an error raised if the other convention has no such value. */
int tn__legacy_to_ffi(const TVMValue *value, int code, TVMFFIAny *out);
int tn__ffi_to_legacy(const TVMFFIAny *value, TVMValue *out, int *code, TVMByteArray *bytes);

#endif
