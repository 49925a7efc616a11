/* The C ABI of tvm-ffi 0.1 (48 functions), which libtvm_ffi of this package implements and kernels are compiled for.
 *
 * Rules that hold for every function here:
 * - an int result is 0, or nonzero with an error in the calling thread's slot, which TVMFFIErrorMoveFromRaised() takes;
 * - the caller owns an object handle that is returned through a pointer, and releases it with TVMFFIObjectDecRef(); a
 *   handle that is passed in is borrowed, unless a comment says otherwise;
 * - values passed as arguments are borrowed for the call; the caller owns the result;
 * - strings are (pointer, size) spans of UTF-8, copied; a `const char *` is NUL-terminated;
 * - every function may be called from any thread. */
#ifndef TENON_TVM_FFI_H
#define TENON_TVM_FFI_H

#include <stddef.h>
#include <stdint.h>

#include "tvm_dlpack.h"

#if defined(_WIN32)
#define TVM_FFI_EXPORT __declspec(dllexport)
#else
#define TVM_FFI_EXPORT __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The type of a TVMFFIAny. Below 64 it holds the value itself, from 64 on an object. 7 to 10 are views, which only
 * occur as arguments. */
enum {
  kTVMFFINone = 0,
  kTVMFFIInt = 1,
  kTVMFFIBool = 2,
  kTVMFFIFloat = 3,
  kTVMFFIOpaquePtr = 4,
  kTVMFFIDataType = 5,
  kTVMFFIDevice = 6,
  kTVMFFIDLTensorPtr = 7,
  kTVMFFIRawStr = 8,
  kTVMFFIByteArrayPtr = 9,
  kTVMFFIObjectRValueRef = 10,
  kTVMFFISmallStr = 11,
  kTVMFFISmallBytes = 12,
  kTVMFFIStaticObjectBegin = 64,
  kTVMFFIObject = 64,
  kTVMFFIStr = 65,
  kTVMFFIBytes = 66,
  kTVMFFIError = 67,
  kTVMFFIFunction = 68,
  kTVMFFIShape = 69,
  kTVMFFITensor = 70,
  kTVMFFIArray = 71,
  kTVMFFIMap = 72,
  kTVMFFIModule = 73,
  kTVMFFIOpaquePyObject = 74,
  kTVMFFIList = 75,
  kTVMFFIDict = 76,
  kTVMFFIVisitInterrupt = 77,
  kTVMFFIDynObjectBegin = 128
};

typedef void *TVMFFIObjectHandle;

/* The task of a deleter: run the destructor (1), free the memory (2), or both (3). */
enum {
  kTVMFFIObjectDeleterFlagBitMaskStrong = 1,
  kTVMFFIObjectDeleterFlagBitMaskWeak = 2,
  kTVMFFIObjectDeleterFlagBitMaskBoth = 3
};

/* The head of every object, 24 bytes. The low half of the count is the number of strong references. The high half is
 * the number of weak references; all strong references together count as one of them. An object with a null deleter
 * is never freed. */
typedef struct {
  uint64_t combined_ref_count;
  int32_t type_index;
  uint32_t padding;
  union {
    void (*deleter)(void *self, int flags);
    int64_t ensure_align;
  };
} TVMFFIObject;

/* A tagged value, 16 bytes. Bytes that the type does not use are zero. */
typedef struct {
  int32_t type_index;
  union {
    uint32_t zero_padding;
    uint32_t small_str_len; /* bytes in v_bytes, at most 7, for the small forms */
  };
  union {
    int64_t v_int64;
    uint64_t v_uint64;
    double v_float64;
    void *v_ptr;
    const char *v_c_str;
    TVMFFIObject *v_obj;
    DLDataType v_dtype;
    DLDevice v_device;
    char v_bytes[8];
  };
} TVMFFIAny;

typedef struct {
  const char *data;
  size_t size;
} TVMFFIByteArray;

typedef struct {
  const int64_t *data;
  size_t size;
} TVMFFIShapeCell;

typedef struct {
  void *data; /* TVMFFIAny[size] */
  int64_t size;
  int64_t capacity;
  void (*data_deleter)(void *data);
} TVMFFISeqCell;

/* Up to version 0.1.7 the cell ended after update_backtrace. */
typedef struct {
  TVMFFIByteArray kind;
  TVMFFIByteArray message;
  TVMFFIByteArray backtrace; /* most recent call first */
  void (*update_backtrace)(TVMFFIObjectHandle self, const TVMFFIByteArray *backtrace, int32_t mode); /* 0 set, 1 append */
  TVMFFIObjectHandle cause_chain;   /* an error or null, owned */
  TVMFFIObjectHandle extra_context; /* any object or null, owned */
} TVMFFIErrorCell;

/* A packed function returns 0 and a result, or nonzero with an error raised. On entry `result` holds None. */
typedef int (*TVMFFISafeCallType)(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result);

typedef struct {
  TVMFFISafeCallType safe_call;
  void *cpp_call;
} TVMFFIFunctionCell;

typedef struct {
  void *handle;
} TVMFFIOpaqueObjectCell;

typedef struct {
  uint32_t major, minor, patch;
} TVMFFIVersion;

/* The header directly before every object that a custom allocator allocated. */
typedef struct {
  void (*delete_space)(void *object);
} TVMFFIObjectAllocHeader;

typedef struct {
  void *(*allocate)(size_t size, size_t alignment, int32_t type_index, void *context);
  void *context;
} TVMFFICustomAllocator;

/* The parts of objects that follow the head: of a string or bytes, an error, and a tensor. */
static inline TVMFFIByteArray *TVMFFIBytesGetByteArrayPtr(TVMFFIObjectHandle object) {
  return (TVMFFIByteArray *)(void *)((TVMFFIObject *)object + 1);
}
static inline TVMFFIErrorCell *TVMFFIErrorGetCellPtr(TVMFFIObjectHandle object) {
  return (TVMFFIErrorCell *)(void *)((TVMFFIObject *)object + 1);
}
static inline DLTensor *TVMFFITensorGetDLTensorPtr(TVMFFIObjectHandle object) {
  return (DLTensor *)(void *)((TVMFFIObject *)object + 1);
}

/* --- reflection --------------------------------------------------------------------------------------------------- */

typedef int (*TVMFFIFieldGetter)(void *field, TVMFFIAny *result);
typedef int (*TVMFFIObjectCreator)(TVMFFIObjectHandle *result);

enum {
  kTVMFFIFieldFlagBitMaskWritable = 1 << 0,
  kTVMFFIFieldFlagBitMaskHasDefault = 1 << 1,
  kTVMFFIFieldFlagBitMaskIsStaticMethod = 1 << 2,
  kTVMFFIFieldFlagBitMaskSEqHashIgnore = 1 << 3,
  kTVMFFIFieldFlagBitMaskDefaultFromFactory = 1 << 5,
  kTVMFFIFieldFlagBitMaskReprOff = 1 << 6,
  kTVMFFIFieldFlagBitMaskCompareOff = 1 << 7,
  kTVMFFIFieldFlagBitMaskHashOff = 1 << 8,
  kTVMFFIFieldFlagBitMaskInitOff = 1 << 9,
  kTVMFFIFieldFlagBitMaskKwOnly = 1 << 10,
  kTVMFFIFieldFlagBitSetterIsFunctionObj = 1 << 11
};

typedef struct {
  TVMFFIByteArray name, doc, metadata;
  int64_t flags, size, alignment, offset;
  TVMFFIFieldGetter getter;
  void *setter; /* int (*)(void *field, const TVMFFIAny *), or a function object if the flag says so */
  TVMFFIAny default_value_or_factory;
  int32_t field_static_type_index;
} TVMFFIFieldInfo;

typedef struct {
  TVMFFIByteArray name, doc, metadata;
  int64_t flags;
  TVMFFIAny method;
} TVMFFIMethodInfo;

typedef struct {
  TVMFFIByteArray doc;
  TVMFFIObjectCreator creator;
  int32_t total_size;
  int32_t structural_eq_hash_kind;
} TVMFFITypeMetadata;

/* Values of one attribute by type index: `data[type_index - begin_index]`. */
typedef struct {
  const TVMFFIAny *data;
  int32_t size, begin_index;
} TVMFFITypeAttrColumn;

typedef struct TVMFFITypeInfo {
  int32_t type_index, type_depth;
  TVMFFIByteArray type_key;
  const struct TVMFFITypeInfo **type_ancestors; /* [type_depth], the root first */
  uint64_t type_key_hash;
  int32_t num_fields, num_methods;
  const TVMFFIFieldInfo *fields;
  const TVMFFIMethodInfo *methods;
  const TVMFFITypeMetadata *metadata;
} TVMFFITypeInfo;

/* --- objects ------------------------------------------------------------------------------------------------------ */

TVM_FFI_EXPORT void TVMFFIGetVersion(TVMFFIVersion *out_version);
TVM_FFI_EXPORT int TVMFFIObjectIncRef(TVMFFIObjectHandle object);
TVM_FFI_EXPORT int TVMFFIObjectDecRef(TVMFFIObjectHandle object);
/* Wraps a foreign handle. `deleter(handle)` runs when the last reference is released, on the thread that releases
 * it. */
TVM_FFI_EXPORT int TVMFFIObjectCreateOpaque(void *handle, int32_t type_index, void (*deleter)(void *handle),
                                            TVMFFIObjectHandle *out);
/* The allocator of all objects of the process; null restores the built-in allocator. */
TVM_FFI_EXPORT TVMFFICustomAllocator *TVMFFIGetCustomAllocator(void);
TVM_FFI_EXPORT int TVMFFISetCustomAllocator(TVMFFICustomAllocator *allocator);

/* --- functions ---------------------------------------------------------------------------------------------------- */

/* `deleter(self)`, if not null, runs when the last reference is released, on the thread that releases it. */
TVM_FFI_EXPORT int TVMFFIFunctionCreate(void *self, TVMFFISafeCallType safe_call, void (*deleter)(void *self),
                                        TVMFFIObjectHandle *out);
/* `result` must hold a value below 64. */
TVM_FFI_EXPORT int TVMFFIFunctionCall(TVMFFIObjectHandle function, TVMFFIAny *args, int32_t num_args, TVMFFIAny *result);
/* Returns 0 and null if the name is not registered. */
TVM_FFI_EXPORT int TVMFFIFunctionGetGlobal(const TVMFFIByteArray *name, TVMFFIObjectHandle *out);
TVM_FFI_EXPORT int TVMFFIFunctionSetGlobal(const TVMFFIByteArray *name, TVMFFIObjectHandle function, int allow_override);
TVM_FFI_EXPORT int TVMFFIFunctionSetGlobalFromMethodInfo(const TVMFFIMethodInfo *method, int allow_override);
/* Converts an argument to an owned value: text and bytes are copied, an rvalue reference is moved. */
TVM_FFI_EXPORT int TVMFFIAnyViewToOwnedAny(const TVMFFIAny *view, TVMFFIAny *out);

/* --- errors ------------------------------------------------------------------------------------------------------- */

/* Takes the calling thread's error out of its slot; null if there is none. */
TVM_FFI_EXPORT void TVMFFIErrorMoveFromRaised(TVMFFIObjectHandle *result);
/* Replaces the calling thread's error. */
TVM_FFI_EXPORT void TVMFFIErrorSetRaised(TVMFFIObjectHandle error);
TVM_FFI_EXPORT void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message);
/* Null parts are omitted. */
TVM_FFI_EXPORT void TVMFFIErrorSetRaisedFromCStrParts(const char *kind, const char **message_parts, int32_t num_parts);
TVM_FFI_EXPORT int TVMFFIErrorCreate(const TVMFFIByteArray *kind, const TVMFFIByteArray *message,
                                     const TVMFFIByteArray *backtrace, TVMFFIObjectHandle *out);
/* `cause_chain` and `extra_context` may be null. */
TVM_FFI_EXPORT int TVMFFIErrorCreateWithCauseAndExtraContext(const TVMFFIByteArray *kind, const TVMFFIByteArray *message,
                                                             const TVMFFIByteArray *backtrace,
                                                             TVMFFIObjectHandle cause_chain,
                                                             TVMFFIObjectHandle extra_context, TVMFFIObjectHandle *out);
/* A line for the named place, in a buffer of the calling thread. */
TVM_FFI_EXPORT const TVMFFIByteArray *TVMFFIBacktrace(const char *filename, int lineno, const char *func,
                                                      int cross_ffi_boundary);

/* --- tensors, text, element types --------------------------------------------------------------------------------- */

/* Takes ownership of the managed tensor on success; on failure the caller still owns it. */
TVM_FFI_EXPORT int TVMFFITensorFromDLPack(DLManagedTensor *from, int32_t require_alignment, int32_t require_contiguous,
                                          TVMFFIObjectHandle *out);
TVM_FFI_EXPORT int TVMFFITensorFromDLPackVersioned(DLManagedTensorVersioned *from, int32_t require_alignment,
                                                   int32_t require_contiguous, TVMFFIObjectHandle *out);
/* The managed tensor retains the tensor until its deleter is called. */
TVM_FFI_EXPORT int TVMFFITensorToDLPack(TVMFFIObjectHandle from, DLManagedTensor **out);
TVM_FFI_EXPORT int TVMFFITensorToDLPackVersioned(TVMFFIObjectHandle from, DLManagedTensorVersioned **out);
/* Creates a tensor over the memory that `prototype` describes. It retains `source`; shape and strides are copied. */
TVM_FFI_EXPORT int TVMFFITensorCreateUnsafeView(TVMFFIObjectHandle source, const DLTensor *prototype,
                                                TVMFFIObjectHandle *out);
TVM_FFI_EXPORT int TVMFFIStringFromByteArray(const TVMFFIByteArray *input, TVMFFIAny *out);
TVM_FFI_EXPORT int TVMFFIBytesFromByteArray(const TVMFFIByteArray *input, TVMFFIAny *out);
TVM_FFI_EXPORT int TVMFFIDataTypeFromString(const TVMFFIByteArray *text, DLDataType *out);
TVM_FFI_EXPORT int TVMFFIDataTypeToString(const DLDataType *dtype, TVMFFIAny *out);

/* --- types -------------------------------------------------------------------------------------------------------- */

TVM_FFI_EXPORT int TVMFFITypeKeyToIndex(const TVMFFIByteArray *type_key, int32_t *out_index);
/* Returns the index of a type, and registers a new key, unless the parent is -2. Ends the process if the arguments
 * contradict the table, because the function cannot return an error. */
TVM_FFI_EXPORT int32_t TVMFFITypeGetOrAllocIndex(const TVMFFIByteArray *type_key, int32_t static_type_index,
                                                 int32_t type_depth, int32_t num_child_slots,
                                                 int32_t child_slots_can_overflow, int32_t parent_type_index);
/* Ends the process if the type does not exist. */
TVM_FFI_EXPORT const TVMFFITypeInfo *TVMFFIGetTypeInfo(int32_t type_index);
TVM_FFI_EXPORT int TVMFFITypeRegisterField(int32_t type_index, const TVMFFIFieldInfo *info);
TVM_FFI_EXPORT int TVMFFITypeRegisterMethod(int32_t type_index, const TVMFFIMethodInfo *info);
TVM_FFI_EXPORT int TVMFFITypeRegisterMetadata(int32_t type_index, const TVMFFITypeMetadata *metadata);
TVM_FFI_EXPORT int TVMFFITypeRegisterAttr(int32_t type_index, const TVMFFIByteArray *attr_name, const TVMFFIAny *value);
/* Null if no type has the attribute. */
TVM_FFI_EXPORT const TVMFFITypeAttrColumn *TVMFFIGetTypeAttrColumn(const TVMFFIByteArray *attr_name);

/* --- environment -------------------------------------------------------------------------------------------------- */

TVM_FFI_EXPORT int TVMFFIHandleInitOnce(void **handle, int (*init)(void **result));
TVM_FFI_EXPORT int TVMFFIHandleDeinitOnce(void **handle, int (*deinit)(void *handle));
/* Sets the calling thread's stream of a device. `out_original` may be null. */
TVM_FFI_EXPORT int TVMFFIEnvSetStream(int32_t device_type, int32_t device_id, void *stream, void **out_original);
TVM_FFI_EXPORT void *TVMFFIEnvGetStream(int32_t device_type, int32_t device_id);
/* Sets the allocator of the calling thread, and with `write_to_global` also of the process. `out_original` may be
 * null. */
TVM_FFI_EXPORT int TVMFFIEnvSetDLPackManagedTensorAllocator(DLPackManagedTensorAllocator allocator, int write_to_global,
                                                            DLPackManagedTensorAllocator *out_original);
TVM_FFI_EXPORT DLPackManagedTensorAllocator TVMFFIEnvGetDLPackManagedTensorAllocator(void);
TVM_FFI_EXPORT int TVMFFIEnvTensorAlloc(DLTensor *prototype, TVMFFIObjectHandle *out);
/* Nonzero when the program was interrupted and the kernel should return. */
TVM_FFI_EXPORT int TVMFFIEnvCheckSignals(void);
TVM_FFI_EXPORT int TVMFFIEnvRegisterCAPI(const char *name, void *symbol);
/* Looks up a function in the imports of a library's module, then among the global functions. The result is borrowed
 * from the module. */
TVM_FFI_EXPORT int TVMFFIEnvModLookupFromImports(TVMFFIObjectHandle library_ctx, const char *func_name,
                                                 TVMFFIObjectHandle *out);
TVM_FFI_EXPORT int TVMFFIEnvModRegisterContextSymbol(const char *name, void *symbol);
TVM_FFI_EXPORT int TVMFFIEnvModRegisterSystemLibSymbol(const char *name, void *symbol);

#ifdef __cplusplus
}
#endif
#endif
