/* Packed functions: the functions of libtenon_packed, libtvm_ffi and libtvm_runtime that @tenon/packed-func binds by
 * name, and the memory that it shares with them. The rules of tenon.h hold for every function, with one addition: a
 * function that is documented to return "0 or -1" leaves an error object of tvm-ffi in the slot when it returns -1,
 * and the caller owns that error. */
#ifndef TENON_TVM_H
#define TENON_TVM_H

#include "tenon_call.h"
#include "tenon/tvm_ffi.h"

/* --- the stack: the memory that JavaScript and native code share -------------------------------------------------- */

/* Each thread that runs JavaScript has one stack, aligned to its size, so any slot's address leads to the head. */
#define TN_PACKED_STACK_SIZE 262144
#define TN_PACKED_OUT 4096        /* the offset of the text that native code leaves for JavaScript */
#define TN_PACKED_OUT_SIZE 16384  /* the size of that text */
#define TN_PACKED_SLOTS 20480     /* the offset of the slots, TVMFFIAny[TN_PACKED_SLOT_COUNT]: the frames of calls */
#define TN_PACKED_SLOT_COUNT 6912
#define TN_PACKED_MEMORY_SIZE 317440 /* a stack, and behind it a pointer for each slot */
#define TN_PACKED_TEXT 131072     /* the offset of the text that JavaScript leaves for native code, up to the end */

/* The call that tn_packed_call() makes, as tn_packed_head_t.call encodes it: the index of the frame's first slot in
 * the low TN_PACKED_CALL_SHIFT bits, the number of arguments above them, and TN_PACKED_CALL_SELECTED. */
#define TN_PACKED_CALL_SHIFT 13
#define TN_PACKED_CALL_SELECTED 0x40000000 /* set by JavaScript for each call, and cleared when the call begins */

/* The head of a stack: the part that JavaScript reads and writes. */
typedef struct {
  int32_t top;        /* the index of the first free slot */
  int32_t raised;     /* 1 when a TypeScript function has left its error in its result slot */
  int32_t owned;      /* 1 when the result of a TypeScript function is owned, and not borrowed */
  uint32_t tensors;   /* see tn_packed_call() */
  uint64_t words[14]; /* the results of functions that have several, and TN_PACKED_ANSWERED_CALL */
  int32_t pending;    /* 1 when a value that native code released waits for the end of the outermost call */
  uint32_t call;      /* see tn_packed_call() */
  uint64_t zero;      /* always 0: memory for arguments that point to an empty value */
} tn_packed_head_t;

/* A stack: the head, then fields that are private to libtenon_packed. */
typedef struct tn_packed_stack tn_packed_stack_t;

/* Creates a stack for the calling thread, once for each copy of the package: zeroed bytes. After the thread has ended,
 * it is freed with the last function and value of it that native code holds. */
TN_API int32_t tn_packed_open(tn_packed_stack_t **out);

/* Creates a stack in zeroed memory of JavaScript, of TN_PACKED_MEMORY_SIZE bytes at a multiple of TN_PACKED_STACK_SIZE, for runtimes
 * without buffers over native memory. The memory must be valid until the thread's environment has ended. Such a stack never sets
 * `pending`: JavaScript must take released ids without it. */
TN_API int32_t tn_packed_open_in(void *memory, tn_packed_stack_t **out);

/* Takes at most `capacity` ids of JavaScript values that native code has released, and returns their number; the
 * other ids stay queued. Called only on the stack's thread. */
TN_API int32_t tn_packed_take_released(tn_packed_stack_t *stack, int64_t *ids, int32_t capacity);

/* The number of places that tn_packed_add_places() adds, and its logarithm. */
#define TN_PACKED_PLACES 1024
#define TN_PACKED_PLACES_SHIFT 10

/* Adds places for the addresses of objects that the thread's JavaScript owns one reference of, which never move. A place that
 * is positive is an address. At the end of the thread's environment their references are released, and the places are freed. */
TN_API int32_t tn_packed_add_places(tn_packed_stack_t *stack, double **out);

/* As tn_packed_add_places(), in zeroed memory of JavaScript, which must be valid until the thread's environment has ended. */
TN_API int32_t tn_packed_add_places_in(tn_packed_stack_t *stack, double *memory);

/* Releases the reference of a place, which becomes 0. No-op if it is not positive. */
TN_API void tn_packed_release_place(double *place);

/* --- the bound tvm-ffi library ------------------------------------------------------------------------------------ */

/* Opens a tvm-ffi library globally and permanently, so that kernels find its functions. A handler for SIGSEGV that it
 * installs meanwhile is removed again, because the JavaScript engine needs its own. */
TN_API int32_t tn_packed_open_library(const char *path, size_t size, void **out);

/* The loader's message after tn_packed_open_library() failed on the calling thread: NUL-terminated, valid until its
 * next failure. */
TN_API const char *tn_packed_library_error(void);

/* The tvm-ffi library that the process has already loaded, or null. */
TN_API void *tn_packed_loaded_library(void);

/* The path of the bound tvm-ffi library, in UTF-8 and NUL-terminated, valid for ever; empty if the loader does not know it. */
TN_API const char *tn_packed_library_path(void);

/* Binds an opened tvm-ffi library and registers the runtime functions that kernels use there. Only the first successful
 * call of the process has an effect. TN_NOT_FOUND: the library does not export a required function. */
TN_API int32_t tn_packed_bind(void *library);

/* Registers the allocator of tensors that kernels return, for all threads. */
TN_API int32_t tn_packed_install_allocator(void);

/* Registers the function by which kernels find out whether their call was cancelled: see tn_packed_job_cancel(). */
TN_API int32_t tn_packed_install_signals(void);

/* --- calls from JavaScript ---------------------------------------------------------------------------------------- */

/* An entry: calls a function with the slots of the stack at `integers[0]` of the frame that `call` of the stack's head
 * encodes. The first slot holds the function and becomes the result; the arguments follow. `tensors` of the head has a
 * bit for each of the first 31 arguments that is a tensor of JavaScript, and afterwards for each that native code still
 * holds. JavaScript has noted their objects behind the stack, because the function may overwrite its arguments. Returns
 * the type index of the result, or -1 with the error in its slot. Text or bytes are copied to the stack's text if they
 * fit; then `zero_padding` of the slot is 1, its value is the size in bytes, and it needs no clearing. */
TN_API int32_t tn_packed_call(tn_call_frame_t *frame);

/* Does what tn_packed_call() could not do because a C++ exception ended it. `status` is that of the exception, which becomes
 * the error in the slot, or TN_OK if JavaScript throws another error. Returns -1. */
TN_API int32_t tn_packed_end_exception(TVMFFIAny *slot, uint32_t tensors, int32_t status);

/* Converts the `count` arguments after `slot` to owned values at `owned`. 0 or -1; after -1 there are none. */
TN_API int32_t tn_packed_own(TVMFFIAny *slot, size_t count, TVMFFIAny *owned);

/* Calls a function with arguments that do not fit on the stack: owned values, which are consumed, and which the function
 * may overwrite. Returns the same as tn_packed_call(), with the result or the error in the slot. */
TN_API int32_t tn_packed_call_owned(TVMFFIAny *slot, TVMFFIObjectHandle function, TVMFFIAny *owned, size_t count);

/* --- values ------------------------------------------------------------------------------------------------------- */

/* Stores the address and the size of the text or bytes in a slot in words 0 and 1. */
TN_API void tn_packed_text(tn_packed_stack_t *stack, const TVMFFIAny *slot);

/* Creates an owned string, or owned bytes, in a slot; tn_packed_clear() releases it. */
TN_API int32_t tn_packed_make_text(TVMFFIAny *slot, const char *data, size_t size, int32_t is_bytes);

/* Releases the object of an owned value, if it has one, and leaves None. */
TN_API void tn_packed_clear(TVMFFIAny *slot);

/* Clears `count` owned values that lie outside the slots. */
TN_API void tn_packed_clear_owned(TVMFFIAny *owned, size_t count);

/* Retains an object. */
TN_API void tn_packed_retain(TVMFFIObjectHandle object);

/* Releases an object. */
TN_API void tn_packed_release(TVMFFIObjectHandle object);

/* Stores the address and size of a type's static key in words 0 and 1. Returns 1, or 0 if the index is negative. */
TN_API int32_t tn_packed_type_key(tn_packed_stack_t *stack, int32_t type_index);

/* Looks up a global function and leaves it in a slot, or None if the name is not registered. 0 or -1. */
TN_API int32_t tn_packed_get_global(TVMFFIAny *slot, const char *name, size_t size);

/* Registers a global function. 0 or -1. */
TN_API int32_t tn_packed_set_global(TVMFFIAny *slot, const char *name, size_t size, TVMFFIObjectHandle function,
                                    int32_t allow_override);

/* Parses the name of an element type and leaves the type in the slot. 0 or -1. */
TN_API int32_t tn_packed_dtype_parse(TVMFFIAny *slot, const char *text, size_t size);

/* Replaces the element type in the slot by its name. 0 or -1. */
TN_API int32_t tn_packed_dtype_text(TVMFFIAny *slot);

/* --- registered types --------------------------------------------------------------------------------------------- */

/* Returns the index of the type with a key, or -1 if no type has the key. */
TN_API int32_t tn_packed_type_index(const char *key, size_t size);

/* Returns the description of a type, or null for an unknown index, for which other libraries than this package's end the
 * process. It is valid for ever, but the arrays of fields and methods move when the type gets more of them, so they are
 * copied at once. */
TN_API const TVMFFITypeInfo *tn_packed_type_info(int32_t type_index);

/* Leaves an owned copy of an attribute of exactly this type in the slot, or None. 0 or -1. */
TN_API int32_t tn_packed_type_attribute(TVMFFIAny *slot, const char *name, size_t size, int32_t type_index);

/* Creates a function in the slot that returns a field of the object that is its argument, or, if `writes` is 1, sets the
 * field to its second argument. The callers guarantee that the object has the field. `info` is copied. 0 or -1. */
TN_API int32_t tn_packed_field_create(TVMFFIAny *slot, const TVMFFIFieldInfo *info, uint32_t writes);

/* --- streams ------------------------------------------------------------------------------------------------------ */

/* Leaves the calling thread's stream of a device in the slot, as a pointer that can be null. */
TN_API void tn_packed_get_stream(TVMFFIAny *slot, int32_t device_type, int32_t device_id);

/* Replaces the calling thread's stream of a device by the pointer in the slot, and leaves the former one there. 0 or -1. */
TN_API int32_t tn_packed_set_stream(TVMFFIAny *slot, int32_t device_type, int32_t device_id);

/* --- tensors ------------------------------------------------------------------------------------------------------ */

/* A tensor as JavaScript describes it. The shape and then the strides follow, `ndim` int64_t each. */
typedef struct {
  uint64_t data; /* the address of the first element */
  int32_t device_type;
  int32_t device_id;
  int32_t ndim;
  uint32_t dtype; /* a DLDataType: code, bits, lanes */
  uint64_t flags; /* the flags of DLPack */
  int64_t id;     /* queued for tn_packed_take_released() when native code no longer uses the memory */
} tn_packed_tensor_t;

/* Creates a tensor object over memory of JavaScript in `slot`. 0 or -1. */
TN_API int32_t tn_packed_tensor_create(TVMFFIAny *slot, const tn_packed_tensor_t *description);

/* Creates a tensor object in the slot that takes ownership of a managed tensor: a DLManagedTensorVersioned, or if
 * `versioned` is 0 a DLManagedTensor. `alignment` 0 accepts any. 0, or -1, and then the caller still owns it. */
TN_API int32_t tn_packed_tensor_from_dlpack(TVMFFIAny *slot, void *managed, uint32_t versioned, uint32_t alignment);

/* Calls the deleter of a DLManagedTensorVersioned, of which any major version has the version and the deleter. */
TN_API void tn_packed_delete_dlpack(void *managed);

/* Leaves the address of a managed tensor over a tensor object in the slot; its deleter releases the object. A versioned
 * one also gets `flags`, because some libraries drop those that a tensor was created with. 0 or -1. */
TN_API int32_t tn_packed_tensor_to_dlpack(TVMFFIAny *slot, TVMFFIObject *object, uint32_t versioned, uint32_t flags);

/* Describes a borrowed DLTensor in the words: 0 the address of the first element, 1 and 2 the type and index of the
 * device, 3 ndim, 4 the element type, 5 whether it has strides. The shape, and the strides if there are any, go to
 * the stack's text. Returns 0, or -1 if the tensor has too many axes for the text. */
TN_API int32_t tn_packed_describe_view(tn_packed_stack_t *stack, const DLTensor *tensor);

/* Describes a tensor object in the same way, and stores the flags of DLPack in word 6. */
TN_API int32_t tn_packed_describe_tensor(tn_packed_stack_t *stack, TVMFFIObject *object);

/* --- errors ------------------------------------------------------------------------------------------------------- */

/* Creates an error in `slot` from three texts that follow each other at `text`, and a cause or null. The `id` of the
 * JavaScript error is queued for tn_packed_take_released() when the native error is destroyed. Returns a status. */
TN_API int32_t tn_packed_error_create(TVMFFIAny *slot, const char *text, size_t kind_size, size_t message_size,
                                      size_t backtrace_size, int64_t id, TVMFFIObjectHandle cause);

/* Reads an error. Words 0 to 2 become the sizes of its kind, message and backtrace, word 3 the cause (owned by the
 * caller) or 0, and words 4 to 6 the addresses of the three texts. Returns 1 if the texts were copied to the stack's
 * text one after the other, or 0 if they do not fit. */
TN_API int32_t tn_packed_error_read(tn_packed_stack_t *stack, TVMFFIObject *error);

/* Appends frames to the backtrace of an error. */
TN_API void tn_packed_error_append(TVMFFIObjectHandle error, const char *text, size_t size);

/* --- TypeScript functions ----------------------------------------------------------------------------------------- */

/* How a TypeScript function handles calls from other threads. */
#define TN_PACKED_THREADS_REFUSE 0 /* the call fails */
#define TN_PACKED_THREADS_RELAY 1  /* the caller waits until the function's thread has run it */
#define TN_PACKED_THREADS_ASYNC 2  /* the caller also waits for the answer that JavaScript gives later */

/* Creates a packed function in `slot` that runs a callback, which the function retains. `threads` is one of
 * TN_PACKED_THREADS_*; callers on other threads wait at most `timeout_ms`. 0 or -1. */
TN_API int32_t tn_packed_function_create(TVMFFIAny *slot, tn_callback_t *callback, uint32_t threads,
                                         uint32_t timeout_ms);

/* While an asynchronous function starts for a call of another thread, the name of the answer is in this word. */
#define TN_PACKED_ANSWERED_CALL 13

/* Answers a call once, on the stack's thread, with the value in the slot, or with the error there if `failed` is 1. */
TN_API void tn_packed_answer(uint64_t answer, TVMFFIAny *slot, int32_t failed);

/* --- calls on another thread -------------------------------------------------------------------------------------- */

typedef struct tn_packed_job tn_packed_job_t;

/* Creates a job from the frame at `frame`, with copies of `count` arguments: text by value, objects by reference. A
 * borrowed DLTensor is refused. 0 with the job's address as an opaque pointer in the result's slot, or -1. */
TN_API int32_t tn_packed_job_create(TVMFFIObject *function, TVMFFIAny *frame, int32_t count);

/* Runs a job on a thread of the pool. The completion `id` follows, and then tn_packed_job_finish(). 0, or -1 with the
 * error in the slot, and then there is no job any more. */
TN_API int32_t tn_packed_job_submit(tn_packed_job_t *job, uint64_t id, TVMFFIAny *slot);

/* Asks the kernel of a running job to stop. */
TN_API void tn_packed_job_cancel(tn_packed_job_t *job);

/* Moves a finished job's result to a slot and frees the job. Returns its type index, or -1 with the error there. */
TN_API int32_t tn_packed_job_finish(tn_packed_job_t *job, TVMFFIAny *slot);

/* --- libtvm_ffi --------------------------------------------------------------------------------------------------- */

/* The number of live objects that libtvm_ffi created: for tests of leaks. */
TN_API int64_t tn_tvm_live_objects(void);

/* Sets the number of frames in the backtraces of all threads, and returns the previous number. */
TN_API int32_t tn_tvm_set_backtrace_limit(int32_t frames);

/* --- libtvm_runtime ----------------------------------------------------------------------------------------------- */

/* Connects libtvm_runtime and libtvm_ffi, so that modules can call kernels of TVM to 0.20. 0, or -1 with an error of
 * tvm-ffi raised. */
TN_API int32_t tn_tvm_legacy_install(void);

#endif
