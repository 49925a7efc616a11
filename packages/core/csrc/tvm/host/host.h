/* libtenon_packed: what @tenon/packed-func calls. It reaches tvm-ffi through a table of functions, so that it works with
 * this package's libtvm_ffi and with any other. Its exports begin with tn_packed_; statuses are those of tenon.h. */
#ifndef TENON_PACKED_HOST_H
#define TENON_PACKED_HOST_H

#include <stdatomic.h>
#include <stdbool.h>

#include "tenon.h"
#include "tenon/tvm_ffi.h"

/* --- ffi.c: the bound tvm-ffi library ------------------------------------------------------------------------------------- */

/* Every function that is used, and whether a library can lack it. */
#define TN_FFI_FUNCTIONS(X)                        \
  X(TVMFFIObjectIncRef, true)                      \
  X(TVMFFIObjectDecRef, true)                      \
  X(TVMFFIObjectCreateOpaque, true)                \
  X(TVMFFIFunctionCreate, true)                    \
  X(TVMFFIFunctionCall, true)                      \
  X(TVMFFIFunctionGetGlobal, true)                 \
  X(TVMFFIFunctionSetGlobal, true)                 \
  X(TVMFFIAnyViewToOwnedAny, true)                 \
  X(TVMFFIErrorMoveFromRaised, true)               \
  X(TVMFFIErrorSetRaised, true)                    \
  X(TVMFFIErrorSetRaisedFromCStr, true)            \
  X(TVMFFIErrorCreate, true)                       \
  X(TVMFFIErrorCreateWithCauseAndExtraContext, false) \
  X(TVMFFITensorFromDLPackVersioned, true)         \
  X(TVMFFITensorToDLPackVersioned, true)           \
  X(TVMFFIStringFromByteArray, true)               \
  X(TVMFFIBytesFromByteArray, true)                \
  X(TVMFFIDataTypeFromString, true)                \
  X(TVMFFIDataTypeToString, true)                  \
  X(TVMFFIGetTypeInfo, true)                       \
  X(TVMFFITypeKeyToIndex, true)                    \
  X(TVMFFIHandleInitOnce, false)                   \
  X(TVMFFIEnvModLookupFromImports, true)           \
  X(TVMFFIEnvRegisterCAPI, true)                   \
  X(TVMFFIEnvModRegisterContextSymbol, true)       \
  X(TVMFFIEnvSetDLPackManagedTensorAllocator, true)

typedef struct {
#define MEMBER(name, required) __typeof__(&name) name;
  TN_FFI_FUNCTIONS(MEMBER)
#undef MEMBER
} tn__ffi_t;

/* Filled once by tn_packed_bind(), before anything else here is called. */
extern tn__ffi_t tn__ffi;

/* --- stack.c: the memory that JavaScript and C share ------------------------------------------------------------------------ */

/* One block for each thread that runs JavaScript, aligned to its size, so that any frame in it leads to its head. */
#define TN_STACK_SIZE 262144
#define TN_STACK_OUT 4096        /* where C leaves text for JavaScript */
#define TN_STACK_OUT_SIZE 16384
#define TN_STACK_SLOTS 20480     /* TVMFFIAny[], the frames */
#define TN_STACK_SLOT_COUNT 6912 /* up to byte 131072, where text for C begins */

typedef struct tn__foreign tn__foreign_t;

/* The head. The first words are read and written by JavaScript as int32. */
typedef struct tn_packed_stack {
  int32_t top;      /* the first free slot, in slots */
  int32_t raised;   /* set by a TypeScript function that left its error in its result slot */
  int32_t owned;    /* set by a TypeScript function whose result is not only lent */
  uint32_t kept;    /* which tensors native code kept after a call: see call.c */
  uint64_t words[14]; /* results of functions that have several */
  int32_t pending;    /* not 0: something waits for the end of the outermost call, as what native code gave back */
  int32_t reserved;
  uint64_t zero; /* always */
  atomic_size_t references;            /* JavaScript's own, and one for each function and foreign value */
  _Atomic(tn__foreign_t *) released;   /* values that native code gave back, until JavaScript takes their ids */
} tn_packed_stack_t;

static inline TVMFFIAny *tn__slots(tn_packed_stack_t *stack) { return (TVMFFIAny *)(void *)((char *)stack + TN_STACK_SLOTS); }
static inline char *tn__out(tn_packed_stack_t *stack) { return (char *)stack + TN_STACK_OUT; }
static inline tn_packed_stack_t *tn__stack_of(const TVMFFIAny *frame) {
  return (tn_packed_stack_t *)((uintptr_t)frame & ~(uintptr_t)(TN_STACK_SIZE - 1));
}

void tn__stack_retain(tn_packed_stack_t *stack);
void tn__stack_release(tn_packed_stack_t *stack);

/* A value of JavaScript in the hands of native code: an id, and the queue that hears of its release. */
struct tn__foreign {
  tn_packed_stack_t *stack; /* one reference */
  int64_t id;
  tn__foreign_t *next;
};

/* Null without memory. */
tn__foreign_t *tn__foreign_new(tn_packed_stack_t *stack, int64_t id);
/* Queues the id; the value is gone for native code. Any thread. */
void tn__foreign_release(void *foreign);

/* The stack of the calling thread. */
tn_packed_stack_t *tn__own_stack(void);

/* Calls a function with a frame of the calling thread's stack: the slot `base`, whose value is the function and becomes
 * the result, and the arguments after it. `count_and_tensors` is their count in its low TN_MASK_SHIFT bits, and above them a
 * bit for each argument that is a tensor of JavaScript: which of them native code holds after the call is left in the
 * stack's `kept`. Returns the type index of the result; -1 if it failed, with the error in the result's slot. */
#define TN_MASK_SHIFT 13
TN_API int32_t tn_packed_call(int32_t base, int32_t count_and_tensors);

/* --- error.c ---------------------------------------------------------------------------------------------------------------- */

/* Raises an error of tvm-ffi and returns -1. */
int tn__packed_raise(const char *kind, const char *message);

/* Takes the calling thread's error into a slot and returns -1. */
int32_t tn__take_error(TVMFFIAny *slot);

#endif
