/* The parts of libtenon_packed that its files share. The library reaches tvm-ffi through a table of functions, so
 * that it works with the libtvm_ffi of this package and with any other. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "tenon_tvm.h"

/* --- ffi.c: the bound tvm-ffi library ----------------------------------------------------------------------------- */

/* All functions that this library uses, and whether the bound library must export each of them. */
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
  X(TVMFFIEnvSetStream, true)

typedef struct {
#define MEMBER(name, required) __typeof__(&name) name;
  TN_FFI_FUNCTIONS(MEMBER)
#undef MEMBER
} tn__ffi_t;

/* Filled by tn_packed_bind() before any other function of this library is called. */
extern tn__ffi_t tn__ffi;

/* Fills the table from an opened library. TN_NOT_FOUND if the library does not export a required function. */
int32_t tn__ffi_find(void *library);

/* --- stack.c: the memory that JavaScript and native code share ---------------------------------------------------- */

typedef struct tn__foreign tn__foreign_t;
typedef struct tn__places tn__places_t;

struct tn_packed_stack {
  tn_packed_head_t head;
  atomic_size_t references;          /* one of the thread, and one of each function and foreign value */
  _Atomic(tn__foreign_t *) released; /* values that native code has released and JavaScript has not yet taken */
  tn__foreign_t *taken;              /* taken values whose ids did not fit into the caller's array */
  struct tn_packed_stack *next;      /* of the stacks of the thread */
  tn__places_t *places;              /* the references that JavaScript owns */
};

static inline TVMFFIAny *tn__slots(tn_packed_stack_t *stack) {
  return (TVMFFIAny *)(void *)((char *)stack + TN_PACKED_SLOTS);
}
static inline char *tn__out(tn_packed_stack_t *stack) { return (char *)stack + TN_PACKED_OUT; }
static inline tn_packed_stack_t *tn__stack_of(const TVMFFIAny *slot) {
  return (tn_packed_stack_t *)((uintptr_t)slot & ~(uintptr_t)(TN_PACKED_STACK_SIZE - 1));
}

void tn__stack_retain(tn_packed_stack_t *stack);
void tn__stack_release(tn_packed_stack_t *stack);

/* A JavaScript value that native code holds: an id, and the stack that queues the id when the value is released. */
struct tn__foreign {
  tn_packed_stack_t *stack; /* retained */
  int64_t id;
  tn__foreign_t *next;
};

/* Creates a foreign value; null without memory. */
tn__foreign_t *tn__foreign_new(tn_packed_stack_t *stack, int64_t id);
/* Releases a foreign value: queues its id for JavaScript. */
void tn__foreign_release(void *foreign);

/* --- owned.c: the references that the JavaScript of a thread owns ------------------------------------------------- */

/* Has the references released at the end of the calling thread's environment, if it has one. 0 without memory. */
int tn__owned_open(tn_packed_stack_t *stack);

/* --- error.c ------------------------------------------------------------------------------------------------------ */

int tn__packed_raise(const char *kind, const char *message);

/* Moves the calling thread's error into a slot and returns -1. */
int32_t tn__take_error(TVMFFIAny *slot);

/* Leaves an owned object in a slot and returns 0, or if the call that created it has failed, takes its error. */
static inline int32_t tn__leave(TVMFFIAny *slot, int status, int32_t type_index, TVMFFIObjectHandle object) {
  if (status != 0) return tn__take_error(slot);
  *slot = (TVMFFIAny){.type_index = type_index, .v_obj = object};
  return 0;
}

static inline int32_t tn__packed_fail(TVMFFIAny *slot, const char *kind, const char *message) {
  tn__packed_raise(kind, message);
  return tn__take_error(slot);
}
