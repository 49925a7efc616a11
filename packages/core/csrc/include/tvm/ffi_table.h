/* The functions of the tvm-ffi library that this process uses. Libraries that do not link with tvm-ffi reach it through
 * this table, so that they work with the libtvm_ffi of this package and with any other. */
#pragma once

#include <stdbool.h>

#include "tenon_tvm.h"

/* The type of an index, or null, in the library of this package. TVMFFIGetTypeInfo() ends the process for an unknown one. */
const TVMFFITypeInfo *tn_tvm_find_type(int32_t type_index);

/* The slot of the calling thread's raised error, in the library of this package. It is valid until the end of the thread, and null
 * while no error is raised. */
TVMFFIObjectHandle *tn_tvm_raised_slot(void);

/* All functions that are used, and whether the bound library must export each of them. */
#define TN_FFI_FUNCTIONS(X)                                                                      \
  X(TVMFFIObjectIncRef, true)                         X(TVMFFIObjectDecRef, true)                \
  X(TVMFFIObjectCreateOpaque, true)                   X(TVMFFIFunctionCreate, true)              \
  X(TVMFFIFunctionCall, true)                         X(TVMFFIFunctionGetGlobal, true)           \
  X(TVMFFIFunctionSetGlobal, true)                    X(TVMFFIAnyViewToOwnedAny, true)           \
  X(TVMFFIErrorMoveFromRaised, true)                  X(TVMFFIErrorSetRaised, true)              \
  X(TVMFFIErrorSetRaisedFromCStr, true)               X(TVMFFIErrorCreate, true)                 \
  X(TVMFFIErrorCreateWithCauseAndExtraContext, false) X(TVMFFITensorFromDLPack, true)            \
  X(TVMFFITensorFromDLPackVersioned, true)            X(TVMFFITensorToDLPack, true)              \
  X(TVMFFITensorToDLPackVersioned, true)              X(TVMFFIStringFromByteArray, true)         \
  X(TVMFFIBytesFromByteArray, true)                   X(TVMFFIDataTypeFromString, true)          \
  X(TVMFFIDataTypeToString, true)                     X(TVMFFIGetTypeInfo, true)                 \
  X(TVMFFIHandleInitOnce, false)                      X(TVMFFIEnvModLookupFromImports, true)     \
  X(TVMFFIEnvRegisterCAPI, true)                      X(TVMFFIEnvModRegisterContextSymbol, true) \
  X(TVMFFIEnvSetDLPackManagedTensorAllocator, true)   X(TVMFFITypeKeyToIndex, true)              \
  X(TVMFFIGetTypeAttrColumn, true)                    X(TVMFFIEnvGetStream, true)                \
  X(TVMFFIEnvSetStream, true)                         X(tn_tvm_find_type, false)             \
  X(tn_tvm_raised_slot, false)

typedef struct {
#define MEMBER(name, required) __typeof__(&name) name;
  TN_FFI_FUNCTIONS(MEMBER)
#undef MEMBER
} tn__ffi_t;

/* Filled before any other function that uses it is called: by tn_packed_bind(), and by workers. */
extern tn__ffi_t tn__ffi;

/* Drops the error that the calling thread has raised, if any, so that no later failure has it. */
static inline void tn__ffi_drop_raised(void) {
  TVMFFIObjectHandle error = NULL;
  tn__ffi.TVMFFIErrorMoveFromRaised(&error);
  if (error != NULL) tn__ffi.TVMFFIObjectDecRef(error);
}

/* Fills the table from an opened library. TN_NOT_FOUND if the library does not export a required function. */
int32_t tn__ffi_find(void *library);
