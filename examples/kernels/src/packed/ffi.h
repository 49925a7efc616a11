/* The form of packed functions of tvm-ffi, and their most frequent results. */
#ifndef TENON_KERNELS_FFI_H
#define TENON_KERNELS_FFI_H

#include "tenon/tvm_ffi.h"

#define UNUSED __attribute__((unused))

/* The parameters of a packed function, which need not use all of them. */
#define PARAMETERS UNUSED void *self, UNUSED const TVMFFIAny *args, UNUSED int32_t num_args, UNUSED TVMFFIAny *result

/* Defines a packed function that the library exports as `symbol`. */
#define PACKED(symbol) TVM_FFI_EXPORT int symbol(PARAMETERS)

/* Raises an error. Returns -1, which the packed function returns then. */
static inline int fail(const char *kind, const char *message) {
  TVMFFIErrorSetRaisedFromCStr(kind, message);
  return -1;
}

static inline int give_int(TVMFFIAny *result, int64_t value) {
  *result = (TVMFFIAny){.type_index = kTVMFFIInt, .v_int64 = value};
  return 0;
}

static inline int give_string(TVMFFIAny *result, const char *text, size_t size) {
  TVMFFIByteArray span = {text, size};
  return TVMFFIStringFromByteArray(&span, result);
}

#endif
