/* The C API of TVM before tvm-ffi (to version 0.20, with the codes of 0.18), which passes parallel arrays of values and
 * codes. It is for compiled kernels, and for C programs that load and call them. TVMThrowLastError() is missing, because it
 * throws a C++ exception.
 *
 * Handles are objects of tvm-ffi, and both conventions share one table of global functions, so that their functions can call
 * each other. Rules that hold for every function here:
 * - an int result is 0, or -1 with an error that TVMGetLastError() returns;
 * - the caller owns a handle that is returned through a pointer; a handle that is passed in is borrowed;
 * - TVMObjectFree, TVMModFree, TVMFuncFree and TVMArrayFree release one reference;
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

/* The code of a TVMValue. Kernels do not accept an int for a float. */
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
/* The handle of an array points to the DLTensor inside its object. */
typedef DLTensor *TVMArrayHandle;

/* An exported kernel. */
typedef int (*TVMBackendPackedCFunc)(TVMValue *args, int *type_codes, int num_args, TVMValue *out_ret_value,
                                     int *out_ret_tcode, void *resource_handle);

/* A function of a host: it sets its result with TVMCFuncSetReturn(). */
typedef int (*TVMPackedCFunc)(TVMValue *args, int *type_codes, int num_args, TVMRetValueHandle ret, void *resource_handle);

/* The source from which a loader of modules, the global function `runtime.module.loadbinary_<kind>`, reads its
 * module. The argument of the loader is a borrowed TVMStream * (code kTVMOpaqueHandle), laid out as a C++ object
 * with these virtual functions. */
typedef struct TVMStream TVMStream;

typedef struct {
  /* Copies at most `size` bytes and returns the number of copied bytes. */
  size_t (*read)(TVMStream *self, void *data, size_t size);
  /* Writes nothing and returns 0, because the stream can only be read. */
  size_t (*write)(TVMStream *self, const void *data, size_t size);
  void (*destroy)(TVMStream *self);
  void (*destroy_and_free)(TVMStream *self);
} TVMStreamFunctions;

struct TVMStream {
  const TVMStreamFunctions *functions;
};

/* --- errors ------------------------------------------------------------------------------------------------------- */

/* Sets the calling thread's error. A kind that ends in Error at the start of the message, as in `ValueError: text`,
 * becomes the kind of the error. The text after a line `Stack trace:` becomes its backtrace. */
TVM_RUNTIME_EXPORT void TVMAPISetLastError(const char *message);
/* The text and the backtrace of the calling thread's last error, valid until its next error. */
TVM_RUNTIME_EXPORT const char *TVMGetLastError(void);
TVM_RUNTIME_EXPORT const char *TVMGetLastBacktrace(void);
/* An error object of the host's language, for a host function that returns -2. The functions that are registered as
 * Py_IncRef and Py_DecRef retain and release it. */
TVM_RUNTIME_EXPORT void TVMAPISetLastPythonError(void *error);
TVM_RUNTIME_EXPORT void *TVMGetLastPythonError(void);
TVM_RUNTIME_EXPORT void TVMDropLastPythonError(void);

/* --- functions ---------------------------------------------------------------------------------------------------- */

/* Arguments are borrowed. A returned string, bytes or element type (as text) lies in a buffer of the calling thread
 * until its next call. The caller owns a returned object and releases it according to its code: TVMObjectFree for 8,
 * TVMModFree for 9, TVMFuncFree for 10, TVMArrayFree for 13. */
TVM_RUNTIME_EXPORT int TVMFuncCall(TVMFunctionHandle function, TVMValue *args, int *type_codes, int num_args,
                                   TVMValue *ret_value, int *ret_type_code);
TVM_RUNTIME_EXPORT int TVMFuncFree(TVMFunctionHandle function);
/* Accepts the bytes that a call returned. They are freed by the thread's next call in any case. */
TVM_RUNTIME_EXPORT int TVMByteArrayFree(TVMByteArray *bytes);
/* `finalizer(resource_handle)`, if not null, runs when the last reference is released, on the thread that releases
 * it. */
TVM_RUNTIME_EXPORT int TVMFuncCreateFromCFunc(TVMPackedCFunc function, void *resource_handle,
                                              void (*finalizer)(void *resource_handle), TVMFunctionHandle *out);
/* Inside a TVMPackedCFunc, sets its result; num_ret must be 1. The value is copied, an object is retained. */
TVM_RUNTIME_EXPORT int TVMCFuncSetReturn(TVMRetValueHandle ret, TVMValue *value, int *type_code, int num_ret);
/* Inside a TVMPackedCFunc, converts a borrowed argument to an owned handle; an rvalue reference is moved. Text and
 * bytes are refused, a DLTensor * (code 7) stays borrowed. */
TVM_RUNTIME_EXPORT int TVMCbArgToReturn(TVMValue *value, int *type_code);

/* Returns 0 and null if the name is not registered. */
TVM_RUNTIME_EXPORT int TVMFuncGetGlobal(const char *name, TVMFunctionHandle *out);
/* The table retains the function. */
TVM_RUNTIME_EXPORT int TVMFuncRegisterGlobal(const char *name, TVMFunctionHandle function, int override);
/* Not an error if the name is not registered. */
TVM_RUNTIME_EXPORT int TVMFuncRemoveGlobal(const char *name);
/* The names lie in an array of the calling thread, valid until its next call. */
TVM_RUNTIME_EXPORT int TVMFuncListGlobalNames(int *out_size, const char ***out_array);

/* --- modules ------------------------------------------------------------------------------------------------------ */

/* Calls the loader `runtime.module.loadfile_<format>`; "" selects the loader of the file's extension. */
TVM_RUNTIME_EXPORT int TVMModLoadFromFile(const char *file_name, const char *format, TVMModuleHandle *out);
/* The module retains its imports. */
TVM_RUNTIME_EXPORT int TVMModImport(TVMModuleHandle module, TVMModuleHandle dependency);
/* Returns 0 and null if the module does not have the function. The function retains its module. */
TVM_RUNTIME_EXPORT int TVMModGetFunction(TVMModuleHandle module, const char *name, int query_imports, TVMFunctionHandle *out);
TVM_RUNTIME_EXPORT int TVMModFree(TVMModuleHandle module);

/* --- objects ------------------------------------------------------------------------------------------------------ */

TVM_RUNTIME_EXPORT int TVMObjectRetain(TVMObjectHandle object);
TVM_RUNTIME_EXPORT int TVMObjectFree(TVMObjectHandle object);
/* The first types keep their indices 0 to 7 (runtime.Object, runtime.Module, runtime.NDArray, runtime.String, Array,
 * Map, runtime.ShapeTuple, runtime.PackedFunc); all other types have the index of tvm-ffi, from 64 on. */
TVM_RUNTIME_EXPORT int TVMObjectGetTypeIndex(TVMObjectHandle object, unsigned *out_index);
TVM_RUNTIME_EXPORT int TVMObjectTypeKey2Index(const char *type_key, unsigned *out_index);
/* A NUL-terminated string that the caller frees with free(). */
TVM_RUNTIME_EXPORT int TVMObjectTypeIndex2Key(unsigned type_index, char **out_type_key);
/* Whether a type is the parent or one of its descendants: 0 or 1. */
TVM_RUNTIME_EXPORT int TVMObjectDerivedFrom(uint32_t child_type_index, uint32_t parent_type_index, int *is_derived);

/* --- arrays: on the CPU, row-major, 64-byte aligned, zeroed ------------------------------------------------------- */

TVM_RUNTIME_EXPORT int TVMArrayAlloc(const int64_t *shape, int ndim, int dtype_code, int dtype_bits, int dtype_lanes,
                                     int device_type, int device_id, TVMArrayHandle *out);
TVM_RUNTIME_EXPORT int TVMArrayFree(TVMArrayHandle array);
/* `byte_size` must be the size of all elements. */
TVM_RUNTIME_EXPORT int TVMArrayCopyFromBytes(TVMArrayHandle array, void *data, size_t byte_size);
TVM_RUNTIME_EXPORT int TVMArrayCopyToBytes(TVMArrayHandle array, void *data, size_t byte_size);
TVM_RUNTIME_EXPORT int TVMArrayCopyFromTo(TVMArrayHandle from, TVMArrayHandle to, TVMStreamHandle stream);
/* Takes ownership of the managed tensor; on failure the caller still owns it. */
TVM_RUNTIME_EXPORT int TVMArrayFromDLPack(DLManagedTensor *from, TVMArrayHandle *out);
/* The managed tensor retains the array until its deleter is called. */
TVM_RUNTIME_EXPORT int TVMArrayToDLPack(TVMArrayHandle from, DLManagedTensor **out);
/* Calls the deleter, for hosts that cannot call a function pointer. */
TVM_RUNTIME_EXPORT void TVMDLManagedTensorCallDeleter(DLManagedTensor *managed);

/* --- devices: only the CPU ---------------------------------------------------------------------------------------- */

/* Allocates zeroed memory, aligned to at least 64 bytes. */
TVM_RUNTIME_EXPORT int TVMDeviceAllocDataSpace(DLDevice device, size_t byte_size, size_t alignment, DLDataType hint, void **out);
/* `mem_scope` must be null, "" or "global". */
TVM_RUNTIME_EXPORT int TVMDeviceAllocDataSpaceWithScope(DLDevice device, int ndim, const int64_t *shape, DLDataType dtype,
                                                        const char *mem_scope, void **out);
TVM_RUNTIME_EXPORT int TVMDeviceFreeDataSpace(DLDevice device, void *memory);
TVM_RUNTIME_EXPORT int TVMDeviceCopyDataFromTo(DLTensor *from, DLTensor *to, TVMStreamHandle stream);
/* The stream of the CPU is null and never has pending work. */
TVM_RUNTIME_EXPORT int TVMStreamCreate(int device_type, int device_id, TVMStreamHandle *out);
TVM_RUNTIME_EXPORT int TVMStreamFree(int device_type, int device_id, TVMStreamHandle stream);
/* Sets the stream of any device for the kernels of the calling thread; TVMFFIEnvGetStream() returns it. */
TVM_RUNTIME_EXPORT int TVMSetStream(int device_type, int device_id, TVMStreamHandle stream);
TVM_RUNTIME_EXPORT int TVMSynchronize(int device_type, int device_id, TVMStreamHandle stream);
TVM_RUNTIME_EXPORT int TVMStreamStreamSynchronize(int device_type, int device_id, TVMStreamHandle source,
                                                  TVMStreamHandle target);

/* --- registrations ------------------------------------------------------------------------------------------------ */

/* Registers a symbol of the program itself, for the module that `runtime.SystemLib` returns. */
TVM_RUNTIME_EXPORT int TVMBackendRegisterSystemLibSymbol(const char *name, void *symbol);
/* Registers the host's PyErr_CheckSignals, PyGILState_Ensure, PyGILState_Release, Py_IncRef or Py_DecRef. */
TVM_RUNTIME_EXPORT int TVMBackendRegisterEnvCAPI(const char *name, void *function);

#ifdef __cplusplus
}
#endif
#endif
