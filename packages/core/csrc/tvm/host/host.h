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
  X(TVMFFITensorFromDLPack, true)                  \
  X(TVMFFITensorFromDLPackVersioned, true)         \
  X(TVMFFITensorToDLPack, true)                    \
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

/* --- posix/library.c, win32/library.c ---------------------------------------------------------------------------------- */

/* Opens a tvm-ffi library globally and for ever, so that kernels find its functions, without letting it take signals. A
 * status; the loader's words are in tn_packed_library_error(). */
TN_API int32_t tn_packed_open_library(const char *path, size_t size, void **out);

/* The loader's words after tn_packed_open_library() failed on this thread: NUL-terminated, valid until it fails again. */
TN_API const char *tn_packed_library_error(void);

/* The tvm-ffi library that the process has loaded already, or null. */
TN_API void *tn_packed_loaded_library(void);

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
  uint32_t tensors; /* see tn_packed_call() */
  uint64_t words[14]; /* results of functions that have several */
  int32_t pending;    /* not 0: something waits for the end of the outermost call, as what native code gave back */
  uint32_t call;      /* see tn_packed_call() */
  uint64_t zero; /* always */
  uint32_t progress;                   /* odd while the thread is in native code: see tn__cross() and relay.c */
  uint32_t will_serve;                 /* native code that the thread is in serves calls of other threads while it waits */
  struct tn__relay *relay;             /* calls of other threads, once it is opened */
  atomic_size_t references;            /* JavaScript's own, and one for each function and foreign value */
  _Atomic(tn__foreign_t *) released;   /* values that native code gave back, until JavaScript takes their ids */
  struct tn_packed_stack *sibling;     /* of another copy of the package in the same thread */
  tn__foreign_t *taken;                /* those of them that had no room when ids were taken: of the thread alone */
} tn_packed_stack_t;

static inline TVMFFIAny *tn__slots(tn_packed_stack_t *stack) { return (TVMFFIAny *)(void *)((char *)stack + TN_STACK_SLOTS); }
static inline char *tn__out(tn_packed_stack_t *stack) { return (char *)stack + TN_STACK_OUT; }
/* The stack's thread goes into native code, out of it, or back and forth in between. */
static inline void tn__cross(tn_packed_stack_t *stack) {
  __atomic_store_n(&stack->progress, stack->progress + 1, __ATOMIC_RELAXED);
}
static inline tn_packed_stack_t *tn__stack_of(const TVMFFIAny *frame) {
  return (tn_packed_stack_t *)((uintptr_t)frame & ~(uintptr_t)(TN_STACK_SIZE - 1));
}

/* relay.c: with the stack, when nobody holds it. */
void tn__relay_free(tn_packed_stack_t *stack);

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

/* The stack of the calling thread that was used last. */
tn_packed_stack_t *tn__own_stack(void);

/* The one whose JavaScript means a call: TN_CALL_MEANT. It becomes the last used. */
tn_packed_stack_t *tn__calling_stack(void);

/* Calls a function with a frame of the calling thread's stack. The stack's `call` says which: the index of its first slot in
 * the low TN_CALL_SHIFT bits, and above them the number of arguments. The first slot holds the function and becomes the result;
 * the arguments follow. The stack's `tensors` has a bit for each argument, of the first 31, that is a tensor of JavaScript, and
 * after the call a bit for each that native code holds. Returns the type index of the result; -1 if it failed, with the error in
 * the result's slot.
 *
 * It has no parameters because the driver takes longer for one than for all that is done here. */
#define TN_CALL_SHIFT 13
#define TN_CALL_MEANT (1u << 30) /* set by JavaScript, and cleared when the call begins */
TN_API int32_t tn_packed_call(void);

/* --- error.c ---------------------------------------------------------------------------------------------------------------- */

/* Raises an error of tvm-ffi and returns -1. */
int tn__packed_raise(const char *kind, const char *message);

/* Takes the calling thread's error into a slot and returns -1. */
int32_t tn__take_error(TVMFFIAny *slot);

#endif
