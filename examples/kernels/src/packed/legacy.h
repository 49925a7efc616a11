/* The form of packed functions of TVM to 0.20, and their most frequent results. */
#ifndef TENON_KERNELS_LEGACY_H
#define TENON_KERNELS_LEGACY_H

#include "tenon/tvm_runtime.h"

#define UNUSED __attribute__((unused))

/* The parameters of a packed function, which need not use all of them. */
#define PARAMETERS                                                                                           \
  UNUSED TVMValue *args, UNUSED int *codes, UNUSED int num_args, UNUSED TVMValue *ret, UNUSED int *ret_code, \
      UNUSED void *resource

/* Defines a packed function that the library exports under its name. */
#define PACKED(name) TVM_RUNTIME_EXPORT int name(PARAMETERS)

/* Sets the error of the thread. Returns -1, which the packed function returns then. */
static inline int fail(const char *message) {
  TVMAPISetLastError(message);
  return -1;
}

static inline int give_int(TVMValue *ret, int *ret_code, int64_t value) {
  ret->v_int64 = value;
  *ret_code = kTVMArgInt;
  return 0;
}

static inline int give_float(TVMValue *ret, int *ret_code, double value) {
  ret->v_float64 = value;
  *ret_code = kTVMArgFloat;
  return 0;
}

#endif
