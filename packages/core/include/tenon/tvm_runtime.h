/* The calling convention of TVM before tvm-ffi (to version 0.20, with the codes of 0.18): parallel arrays of values and
 * codes. What compiled kernels use of it, and functions as values; the functions for frontends are not here.
 *
 * A function handle is a function object of tvm-ffi, so that functions of both conventions call each other. An int result is
 * 0, or -1 with an error that TVMGetLastError() tells. */
#ifndef TENON_TVM_RUNTIME_H
#define TENON_TVM_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#include "tvm_dlpack.h"

#if defined(_WIN32)
#define TVM_RUNTIME_EXPORT __declspec(dllexport)
#else
#define TVM_RUNTIME_EXPORT __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What a TVMValue holds. Kernels take no int for a float. */
enum {
  kTVMArgInt = 0,
  kTVMArgFloat = 2,
  kTVMOpaqueHandle = 3,
  kTVMNullptr = 4,
  kTVMDataType = 5,
  kDLDevice = 6,
  kTVMDLTensorHandle = 7,
  kTVMObjectHandle = 8,
  kTVMModuleHandle = 9,
  kTVMPackedFuncHandle = 10,
  kTVMStr = 11,
  kTVMBytes = 12,
  kTVMNDArrayHandle = 13,
  kTVMObjectRValueRefArg = 14,
  kTVMArgBool = 15
};

typedef union {
  int64_t v_int64;
  double v_float64;
  void *v_handle;
  const char *v_str;
  DLDataType v_type;
  DLDevice v_device;
} TVMValue;

typedef struct {
  const char *data;
  size_t size;
} TVMByteArray;

typedef void *TVMFunctionHandle;
typedef void *TVMRetValueHandle;

/* What an exported kernel is. */
typedef int (*TVMBackendPackedCFunc)(TVMValue *args, int *type_codes, int num_args, TVMValue *out_ret_value,
                                     int *out_ret_tcode, void *resource_handle);

/* What a host's function is: it leaves its result with TVMCFuncSetReturn(). */
typedef int (*TVMPackedCFunc)(TVMValue *args, int *type_codes, int num_args, TVMRetValueHandle ret, void *resource_handle);

/* Sets the calling thread's error. Text that begins with a kind that ends in Error, `ValueError: `, is of that kind. */
TVM_RUNTIME_EXPORT void TVMAPISetLastError(const char *message);
/* The text of the calling thread's last error: valid until its next. */
TVM_RUNTIME_EXPORT const char *TVMGetLastError(void);

/* Arguments are borrowed. A string, bytes or element type that comes back lies in a buffer of the calling thread until its
 * next call; an object is owned by the caller (TVMFuncFree for functions). */
TVM_RUNTIME_EXPORT int TVMFuncCall(TVMFunctionHandle function, TVMValue *args, int *type_codes, int num_args,
                                   TVMValue *ret_value, int *ret_type_code);
TVM_RUNTIME_EXPORT int TVMFuncFree(TVMFunctionHandle function);
/* Owned, or null if there is none. */
TVM_RUNTIME_EXPORT int TVMFuncGetGlobal(const char *name, TVMFunctionHandle *out);
TVM_RUNTIME_EXPORT int TVMFuncRegisterGlobal(const char *name, TVMFunctionHandle function, int override);
/* `finalizer(resource_handle)`, if not null, runs once with the last reference, on whichever thread. */
TVM_RUNTIME_EXPORT int TVMFuncCreateFromCFunc(TVMPackedCFunc function, void *resource_handle,
                                              void (*finalizer)(void *resource_handle), TVMFunctionHandle *out);
/* Inside a TVMPackedCFunc: its result; num_ret is 1. */
TVM_RUNTIME_EXPORT int TVMCFuncSetReturn(TVMRetValueHandle ret, TVMValue *value, int *type_code, int num_ret);

#ifdef __cplusplus
}
#endif
#endif
