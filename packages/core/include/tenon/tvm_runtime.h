/* The C API of TVM before tvm-ffi (to version 0.20, with the codes of 0.18): parallel arrays of values and codes. For compiled
 * kernels, and for programs in C that load and call them. TVMThrowLastError() is not here: it throws an exception of C++.
 *
 * Handles are objects of tvm-ffi, and there is one table of global functions, so that functions of both conventions call each
 * other. Rules that hold for every function here:
 * - an int result is 0, or -1 with an error that TVMGetLastError() tells;
 * - a handle that comes back through a pointer is owned by the caller, one that is passed in is borrowed;
 * - TVMObjectFree, TVMModFree, TVMFuncFree and TVMArrayFree give one reference back;
 * - every function may be called from any thread. Kernels that use `tvm_backend.h` as well are compiled with both. */
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

typedef void *TVMObjectHandle;
typedef void *TVMFunctionHandle;
typedef void *TVMModuleHandle;
typedef void *TVMRetValueHandle;
typedef void *TVMStreamHandle;
/* An array's handle is the DLTensor inside its object. */
typedef DLTensor *TVMArrayHandle;

/* What an exported kernel is. */
typedef int (*TVMBackendPackedCFunc)(TVMValue *args, int *type_codes, int num_args, TVMValue *out_ret_value,
                                     int *out_ret_tcode, void *resource_handle);

/* What a host's function is: it leaves its result with TVMCFuncSetReturn(). */
typedef int (*TVMPackedCFunc)(TVMValue *args, int *type_codes, int num_args, TVMRetValueHandle ret, void *resource_handle);

/* What a loader of modules, the global function `runtime.module.loadbinary_<kind>`, reads its module from: its argument is a
 * TVMStream *, borrowed (code kTVMOpaqueHandle). It is laid out as an object of C++ with these virtual functions. */
typedef struct TVMStream TVMStream;

typedef struct {
  /* Copies as many bytes as there are, at most `size`, and returns how many. */
  size_t (*read)(TVMStream *self, void *data, size_t size);
  /* Writes nothing and returns 0: the stream is one to read. */
  size_t (*write)(TVMStream *self, const void *data, size_t size);
  void (*destroy)(TVMStream *self);
  void (*destroy_and_free)(TVMStream *self);
} TVMStreamFunctions;

struct TVMStream {
  const TVMStreamFunctions *functions;
};

/* --- errors ---------------------------------------------------------------------------------------------------------- */

/* Sets the calling thread's error. Text that begins with a kind that ends in Error, `ValueError: `, is of that kind; what
 * follows a line `Stack trace:` is its backtrace. */
TVM_RUNTIME_EXPORT void TVMAPISetLastError(const char *message);
/* The text of the calling thread's last error, and its backtrace: valid until its next. */
TVM_RUNTIME_EXPORT const char *TVMGetLastError(void);
TVM_RUNTIME_EXPORT const char *TVMGetLastBacktrace(void);
/* An error object of the host's language, for a host whose function returns -2. It is retained and released by the functions
 * that were registered as Py_IncRef and Py_DecRef. */
TVM_RUNTIME_EXPORT void TVMAPISetLastPythonError(void *error);
TVM_RUNTIME_EXPORT void *TVMGetLastPythonError(void);
TVM_RUNTIME_EXPORT void TVMDropLastPythonError(void);

/* --- functions ------------------------------------------------------------------------------------------------------- */

/* Arguments are borrowed. A string, bytes or element type (as text) that comes back lies in a buffer of the calling thread
 * until its next call; an object is owned by the caller, who gives it back by its code: TVMObjectFree for 8, TVMModFree for
 * 9, TVMFuncFree for 10, TVMArrayFree for 13. */
TVM_RUNTIME_EXPORT int TVMFuncCall(TVMFunctionHandle function, TVMValue *args, int *type_codes, int num_args,
                                   TVMValue *ret_value, int *ret_type_code);
TVM_RUNTIME_EXPORT int TVMFuncFree(TVMFunctionHandle function);
/* For the bytes that a call returned: they go with the thread's next call anyway. */
TVM_RUNTIME_EXPORT int TVMByteArrayFree(TVMByteArray *bytes);
/* `finalizer(resource_handle)`, if not null, runs once with the last reference, on whichever thread. */
TVM_RUNTIME_EXPORT int TVMFuncCreateFromCFunc(TVMPackedCFunc function, void *resource_handle,
                                              void (*finalizer)(void *resource_handle), TVMFunctionHandle *out);
/* Inside a TVMPackedCFunc: its result; num_ret is 1. The value is copied, or gets a reference of its own. */
TVM_RUNTIME_EXPORT int TVMCFuncSetReturn(TVMRetValueHandle ret, TVMValue *value, int *type_code, int num_ret);
/* Inside a TVMPackedCFunc: turns a borrowed argument into an owned handle, to keep it; one that is passed to be moved is
 * moved. Text and bytes are refused, a DLTensor * (code 7) stays borrowed. */
TVM_RUNTIME_EXPORT int TVMCbArgToReturn(TVMValue *value, int *type_code);

/* Owned, or null if there is none. */
TVM_RUNTIME_EXPORT int TVMFuncGetGlobal(const char *name, TVMFunctionHandle *out);
/* The table takes a reference of its own. */
TVM_RUNTIME_EXPORT int TVMFuncRegisterGlobal(const char *name, TVMFunctionHandle function, int override);
/* No error if there is none. */
TVM_RUNTIME_EXPORT int TVMFuncRemoveGlobal(const char *name);
/* Names in an array of the calling thread, until it asks again. */
TVM_RUNTIME_EXPORT int TVMFuncListGlobalNames(int *out_size, const char ***out_array);

/* --- modules ---------------------------------------------------------------------------------------------------------- */

/* With the loader `runtime.module.loadfile_<format>`, or with "" by the file's extension. */
TVM_RUNTIME_EXPORT int TVMModLoadFromFile(const char *file_name, const char *format, TVMModuleHandle *out);
/* The module retains what it imports. */
TVM_RUNTIME_EXPORT int TVMModImport(TVMModuleHandle module, TVMModuleHandle dependency);
/* Null, and success, if there is none. The function keeps its module. */
TVM_RUNTIME_EXPORT int TVMModGetFunction(TVMModuleHandle module, const char *name, int query_imports, TVMFunctionHandle *out);
TVM_RUNTIME_EXPORT int TVMModFree(TVMModuleHandle module);

/* --- objects ---------------------------------------------------------------------------------------------------------- */

TVM_RUNTIME_EXPORT int TVMObjectRetain(TVMObjectHandle object);
TVM_RUNTIME_EXPORT int TVMObjectFree(TVMObjectHandle object);
/* Types have the indices 0 to 7 that they had (runtime.Object, runtime.Module, runtime.NDArray, runtime.String, Array, Map,
 * runtime.ShapeTuple, runtime.PackedFunc); all others are those of tvm-ffi, from 64 on. */
TVM_RUNTIME_EXPORT int TVMObjectGetTypeIndex(TVMObjectHandle object, unsigned *out_index);
TVM_RUNTIME_EXPORT int TVMObjectTypeKey2Index(const char *type_key, unsigned *out_index);
/* NUL-terminated, freed by the caller with free(). */
TVM_RUNTIME_EXPORT int TVMObjectTypeIndex2Key(unsigned type_index, char **out_type_key);
/* Whether a type is the other or one of its descendants: 0 or 1. */
TVM_RUNTIME_EXPORT int TVMObjectDerivedFrom(uint32_t child_type_index, uint32_t parent_type_index, int *is_derived);

/* --- arrays: on the CPU, row-major, 64-byte aligned, zeroed ------------------------------------------------------------- */

TVM_RUNTIME_EXPORT int TVMArrayAlloc(const int64_t *shape, int ndim, int dtype_code, int dtype_bits, int dtype_lanes,
                                     int device_type, int device_id, TVMArrayHandle *out);
TVM_RUNTIME_EXPORT int TVMArrayFree(TVMArrayHandle array);
/* `byte_size` is that of all elements. */
TVM_RUNTIME_EXPORT int TVMArrayCopyFromBytes(TVMArrayHandle array, void *data, size_t byte_size);
TVM_RUNTIME_EXPORT int TVMArrayCopyToBytes(TVMArrayHandle array, void *data, size_t byte_size);
TVM_RUNTIME_EXPORT int TVMArrayCopyFromTo(TVMArrayHandle from, TVMArrayHandle to, TVMStreamHandle stream);
/* Takes over the managed tensor; on failure it is still the caller's. */
TVM_RUNTIME_EXPORT int TVMArrayFromDLPack(DLManagedTensor *from, TVMArrayHandle *out);
/* The managed tensor keeps the array until its deleter is called. */
TVM_RUNTIME_EXPORT int TVMArrayToDLPack(TVMArrayHandle from, DLManagedTensor **out);
/* For hosts that can't call a pointer. */
TVM_RUNTIME_EXPORT void TVMDLManagedTensorCallDeleter(DLManagedTensor *managed);

/* --- devices: there is the CPU ------------------------------------------------------------------------------------------- */

/* Memory, zeroed, aligned to 64 bytes at least. */
TVM_RUNTIME_EXPORT int TVMDeviceAllocDataSpace(DLDevice device, size_t byte_size, size_t alignment, DLDataType hint, void **out);
/* The scope is null, "" or "global". */
TVM_RUNTIME_EXPORT int TVMDeviceAllocDataSpaceWithScope(DLDevice device, int ndim, const int64_t *shape, DLDataType dtype,
                                                        const char *mem_scope, void **out);
TVM_RUNTIME_EXPORT int TVMDeviceFreeDataSpace(DLDevice device, void *memory);
TVM_RUNTIME_EXPORT int TVMDeviceCopyDataFromTo(DLTensor *from, DLTensor *to, TVMStreamHandle stream);
/* The CPU's stream is null, and always done. */
TVM_RUNTIME_EXPORT int TVMStreamCreate(int device_type, int device_id, TVMStreamHandle *out);
TVM_RUNTIME_EXPORT int TVMStreamFree(int device_type, int device_id, TVMStreamHandle stream);
/* The stream of a device that kernels of the calling thread use, whatever the device: TVMFFIEnvGetStream() tells it. */
TVM_RUNTIME_EXPORT int TVMSetStream(int device_type, int device_id, TVMStreamHandle stream);
TVM_RUNTIME_EXPORT int TVMSynchronize(int device_type, int device_id, TVMStreamHandle stream);
TVM_RUNTIME_EXPORT int TVMStreamStreamSynchronize(int device_type, int device_id, TVMStreamHandle source,
                                                  TVMStreamHandle target);

/* --- what programs register ------------------------------------------------------------------------------------------------ */

/* A symbol of the program itself, for the module that `runtime.SystemLib` gives. */
TVM_RUNTIME_EXPORT int TVMBackendRegisterSystemLibSymbol(const char *name, void *symbol);
/* PyErr_CheckSignals, PyGILState_Ensure, PyGILState_Release, Py_IncRef or Py_DecRef of the host. */
TVM_RUNTIME_EXPORT int TVMBackendRegisterEnvCAPI(const char *name, void *function);

#ifdef __cplusplus
}
#endif
#endif
