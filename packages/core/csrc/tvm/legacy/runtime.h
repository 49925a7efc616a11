/* The functions that the files of libtvm_runtime share. */
#pragma once

#include "../ffi/legacy.h"
#include "tenon/tvm_runtime.h"

/* --- convert.c: values of one convention as values of the other --------------------------------------------------- */

/* An array's handle points to the DLTensor that follows the head of a tensor object of tvm-ffi. */
static inline TVMFFIObject *tn__object_of_array(TVMArrayHandle array) { return (TVMFFIObject *)(void *)array - 1; }

/* Both convert a borrowed argument. The legacy value may point to `bytes`. -1 with an error if no such value exists. */
int tn__legacy_to_ffi(const TVMValue *value, int code, TVMFFIAny *out);
int tn__ffi_to_legacy(const TVMFFIAny *value, TVMValue *out, int *code, TVMByteArray *bytes);

/* --- device.c: tensors in the memory of the CPU. Each function returns 0, or -1 with an error raised -------------- */

int tn__expect_cpu(int device_type);

/* The size of a tensor's elements in bytes. */
int tn__tensor_size(const DLTensor *tensor, size_t *out);

/* The address of the first byte of a row-major tensor that must have `byte_size` bytes. */
int tn__tensor_bytes(const char *function, const DLTensor *tensor, size_t byte_size, void **out);

int tn__tensor_copy(const char *function, const DLTensor *from, const DLTensor *to);

/* --- function.c, registry.c --------------------------------------------------------------------------------------- */

/* Calls a kernel of TVM to 0.20, for the modules of libtvm_ffi. */
int tn__legacy_call_kernel(void *kernel, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result);

/* Calls a global function. 0 and an owned result, or -1 with an error raised. */
int tn__legacy_call_global(const char *name, TVMFFIAny *args, int32_t count, TVMFFIAny *result);

/* Releases the object of an owned value, if it has one. */
static inline void tn__legacy_drop(const TVMFFIAny *owned) {
  if (owned->type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(owned->v_obj);
}
