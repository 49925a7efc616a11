/* A part of tenon.h, which says what holds for every function: XLA custom calls. */
#ifndef TENON_XLA_H
#define TENON_XLA_H

#include "tenon_call.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- XLA custom calls ------------------------------------------------------------------------------------ */

/* The ABI itself is described by tenon/xla_ffi.h and tenon/xla_custom_call.h. The core also exports the names by which
 * kernel libraries find their runtime: XLA_FFI_GetApi, xla::ffi::GetXlaFfiApi() and XlaCustomCallStatusSetSuccess and
 * -SetFailure. A prepared call is one block of the caller's memory; it is used by one thread at a time. */

/* Asks a typed handler for its metadata. `handler` is its address, `out` has room for a tn_xla_metadata_t (48 bytes, always
 * all of them). A version of 0.0 in the answer means that this is no handler. TN_KERNEL_FAILED: it answered with an error,
 * whose code is in `*code` and whose text is the last error. Never call it with the address of an arbitrary function. */
TN_API int32_t tn_xla_metadata(void *handler, void *out, int32_t *code);

/* Finds out for which stage a handler of version 0.`minor` is, by asking it to prepare a call of nothing: those of other stages say
 * theirs when they refuse. Only for handlers that check their stage, as all do that use a header of XLA or Tenon; one that is for
 * the prepare stage runs. `*stage` is -1 if the answer doesn't tell. TN_EXCEPTION: it threw. */
TN_API int32_t tn_xla_ask_stage(void *handler, int32_t minor, int32_t *stage);

/* How many bytes tn_xla_frame_build() needs for a descriptor (its layout is in xla/frame.c). The descriptor is aligned to 8
 * bytes and borrowed for the call; nothing in it is trusted. */
TN_API int32_t tn_xla_frame_size(const void *descriptor, size_t descriptor_size, size_t *out);

/* Lays out a prepared call in `memory`: owned by the caller, aligned to 64, at a fixed address from here on until
 * tn_xla_close(). The memory starts with two uint64: the call's size, and the offset of its first tn_xla_buffer_t. All
 * buffers, operands before results, lie there in a row; their `data` is null and the caller's to set before each run. */
TN_API int32_t tn_xla_frame_build(const void *descriptor, size_t descriptor_size, void *memory, size_t memory_size);

/* Lends `data` to the handlers of a call, which find it by its type id from the prepare stage on; borrowed until
 * tn_xla_close(). */
TN_API int32_t tn_xla_lend(void *call, int64_t type_id, void *data);

/* Registers a type for handlers of version 0.`minor`: `type_id` is the library's own XLA_FFI_TypeId (8 bytes, which get the id
 * if they are 0), `type_info` its XLA_FFI_TypeInfo or null; 0.1 has none. The id goes to `*id` as well. TN_KERNEL_FAILED: the name or the id belongs to
 * another type; the XLA code is in `*code`, the text is the last error. */
TN_API int32_t tn_xla_type_register(int32_t minor, const char *name, size_t length, void *type_id, void *type_info,
                                    int64_t *id, int32_t *code);

/* Calls `provider`, a function `XLA_FFI_Error* f(const XLA_FFI_Api*)` (or one that returns nothing) by which a library registers
 * its types and handlers, with the table of version 0.`minor`. TN_KERNEL_FAILED: it returned an error; its XLA code is in
 * `*code`, the text is the last error. TN_EXCEPTION: it threw. */
TN_API int32_t tn_xla_provide(void *provider, int32_t minor, int32_t *code);

/* Which table XLA_FFI_GetApi() and its C++ twin give this thread from now on: that of 0.`minor`, or with 0 the newest. For
 * libraries that register themselves when they are loaded: nothing else tells what they were built for. */
TN_API int32_t tn_xla_offer(int32_t minor);

/* Where memory comes from that handlers ask for with DeviceMemory_Allocate. Both functions may be called on any thread and
 * return a status; `data` is theirs. What a handler does not free is freed when its run ends. */
typedef struct tn_xla_memory {
  size_t struct_size;
  int32_t (*allocate)(void *data, size_t size, size_t alignment, void **out);
  int32_t (*free)(void *data, void *memory, size_t size);
  void *data;
} tn_xla_memory_t;

/* Gives the handlers of a call memory; borrowed until tn_xla_close(). Null: memory of the Host, 64-byte aligned, which XLA
 * itself does not give there. */
TN_API int32_t tn_xla_give_memory(void *call, const tn_xla_memory_t *memory);

/* A device that a call runs for. */
typedef struct tn_xla_device {
  size_t struct_size;
  int32_t has_stream;
  void *stream; /* what Stream_Get gives in the initialize and execute stages, if there is one; null is the device's own */
  /* Null, or what is called with `data` on the thread that is about to run handlers: the device becomes that thread's. Anything
   * but 0 is a failure. A device whose struct_size ends before has none. */
  int32_t (*enter)(void *data);
  void *data;
} tn_xla_device_t;

/* Makes a call one of a device: its handlers have a stream and no thread pool. Borrowed until tn_xla_close(). */
TN_API int32_t tn_xla_on_device(void *call, const tn_xla_device_t *device);

/* Runs the instantiate handler, if there is one: once, before the first tn_xla_execute(). Fails like tn_xla_execute(). */
TN_API int32_t tn_xla_instantiate(void *call);

/* Runs prepare, initialize and execute, as far as there are handlers, and waits for a future. Allocates nothing.
 * TN_KERNEL_FAILED: a handler answered with an error. TN_EXCEPTION: it threw. Both leave a failure to be read. */
TN_API int32_t tn_xla_execute(void *call);

/* Lets `call` use the instantiate state and the lent data of `original`, which stays open as long and alone is closed.
 * States of prepare and initialize belong to each run. */
TN_API int32_t tn_xla_share(void *call, void *original);

/* Reads the failure of the last run: its XLA code, the stage, and its message (copied up to `capacity` bytes, not
 * NUL-terminated; its whole length goes to `*length`). The failure is forgotten once it was copied whole. TN_NOT_FOUND:
 * there is none. */
TN_API int32_t tn_xla_failure(void *call, int32_t *code, int32_t *stage, char *message, size_t capacity, size_t *length);

/* Destroys the states that handlers left with a call, and its failure. The memory stays the caller's; closing again does
 * nothing. TN_EXCEPTION: a deleter threw. */
TN_API int32_t tn_xla_close(void *call);

/* Looks for a handler that a library registered itself. `out` gets a tn_xla_bundle_t (32 bytes: the addresses of
 * instantiate, prepare, initialize, execute). Platforms are compared as XLA does: without case, cpu is host, gpu is cuda. */
TN_API int32_t tn_xla_find_handler(const char *name, size_t name_length, const char *platform, size_t platform_length,
                                   void *out);

/* Lists the handlers that libraries registered themselves: for each u32 length of the name, u32 length of the platform, and
 * both, filled up to a multiple of 8. `*length` is what all of it takes: with more than `capacity`, nothing is to be read. */
TN_API int32_t tn_xla_list_handlers(void *out, size_t capacity, size_t *length);

/* The inside of XlaCustomCallStatus. All zeroes is success; whoever makes one clears it. */
struct XlaCustomCallStatus_ {
  int32_t failed;
  size_t length;
  char *message; /* not NUL-terminated; null when empty; of malloc() */
};

/* A call of an untyped convention (tenon/xla_custom_call.h), laid out by the caller and used by one thread at a time. */
typedef struct tn_xla_untyped_call {
  void (*function)(void);
  int32_t api_version; /* TN_XLA_CALL_ORIGINAL, _STATUS_RETURNING or _UNIFIED */
  int32_t on_device;   /* 0: a Host convention; 1: that of CUDA and ROCm */
  void **buffers;      /* the operands' pointers (Host), or those of all operands and results (devices) */
  void **out;          /* Host: where the argument `out` is read from, at each call */
  const char *opaque;
  size_t opaque_length;
  void *stream;
  struct XlaCustomCallStatus_ status; /* of the last run, the core's own: zero before the first */
  const tn_xla_device_t *device;      /* null, or what has to be entered before the call */
} tn_xla_untyped_call_t;

/* Makes such a call under the exception guard. TN_KERNEL_FAILED: the function set a failure, which is to be read. */
TN_API int32_t tn_xla_execute_untyped(void *call);

/* Reads the failure of the last run: its message is copied up to `capacity` bytes, not NUL-terminated, and its whole length
 * goes to `*length`. It is forgotten, and its memory freed, once it was copied whole. TN_NOT_FOUND: there is none. */
TN_API int32_t tn_xla_untyped_failure(void *call, char *message, size_t capacity, size_t *length);

/* Several calls in one. */
typedef struct tn_xla_batch_entry {
  void *call;
  int64_t is_typed; /* 1: a prepared call; 0: an untyped one */
} tn_xla_batch_entry_t;

typedef struct tn_xla_batch {
  size_t count;
  size_t failed; /* after a failure: which one it was */
  const tn_xla_batch_entry_t *entries;
} tn_xla_batch_t;

/* Runs the calls of a tn_xla_batch_t one after another, up to the first that fails: its status is returned, its failure is to
 * be read from that call. */
TN_API int32_t tn_xla_execute_batch(void *batch);

/* Makes a place of the calling thread for the address of the call that it means; it lives as long as the thread's JavaScript. The
 * functions below run that call and empty the place: with TN_INVALID_ARGUMENT if none is meant. */
TN_API int32_t tn_xla_open_current(void ***out);
TN_API int32_t tn_xla_execute_current(void);
TN_API int32_t tn_xla_execute_untyped_current(void);

/* Calls that run on threads of the core. A queue belongs to one thread's JavaScript, which alone calls its functions. */
typedef struct tn_xla_async tn_xla_async_t;
typedef struct tn_xla_job tn_xla_job_t;

/* Opens a queue. `*descriptor` is a file descriptor that is readable when a call is done. TN_UNSUPPORTED on Windows. */
TN_API int32_t tn_xla_async_open(tn_xla_async_t **out, int32_t *descriptor);

/* What a job runs. */
enum { TN_XLA_JOB_UNTYPED = 0, TN_XLA_JOB_TYPED = 1, TN_XLA_JOB_BATCH = 2 };

/* Has a call run: a prepared one, which does not keep a thread while it waits for a future, an untyped one, or a batch. Its
 * memory belongs to the run until tn_xla_async_take() tells `id`, or until the job is cancelled. */
TN_API int32_t tn_xla_async_submit(tn_xla_async_t *queue, void *call, int32_t kind, int64_t id, tn_xla_job_t **out);

/* Takes a job back that was not told yet. TN_NOT_FOUND: it has started, and will be told. */
TN_API int32_t tn_xla_async_cancel(tn_xla_job_t *job);

/* Has the queue expect something that is not a call, to be told as `id` like one. `*out` is for tn_xla_async_arrive(), or for
 * tn_xla_async_forget() if it will not come. */
TN_API int32_t tn_xla_async_expect(tn_xla_async_t *queue, int64_t id, tn_xla_job_t **out);

/* What was expected is there: called once, with the job, on any thread. */
TN_API void tn_xla_async_arrive(void *job);

/* What was expected will not come: nothing is told. Never after tn_xla_async_arrive(). */
TN_API void tn_xla_async_forget(tn_xla_job_t *job);

/* Takes what is done: ids, and statuses as tn_xla_execute() returns them. */
TN_API int32_t tn_xla_async_take(tn_xla_async_t *queue, int64_t *ids, int32_t *statuses, size_t capacity, size_t *count);

/* Waits for all calls in flight, then frees the queue. What is expected may still arrive, and is told to nobody. */
TN_API void tn_xla_async_close(tn_xla_async_t *queue);

/* How many TypeScript functions can be typed handlers at one time. */
#define TN_XLA_FUNCTIONS 256

/* The type of one buffer of a TypeScript function. */
typedef struct tn_xla_function_buffer {
  int32_t dtype;
  int64_t rank;
  const int64_t *dims;
} tn_xla_function_buffer_t;

/* What a TypeScript function takes: operands, then results. One that `reads` checks its calls itself, with
 * tn_xla_function_read(): the buffers here say nothing then. */
typedef struct tn_xla_function {
  size_t operands, results;
  const tn_xla_function_buffer_t *buffers;
  void **data; /* where the pointers to the buffers of a call are left for the callback, to be read at once */
  int64_t reads;
} tn_xla_function_t;

/* Makes a typed handler (`*out` is its address) that runs a callback. The callback gets the function's `data`, and the call,
 * for tn_xla_function_fail(). The handler answers for itself what a frame can be wrong
 * in; it refuses attributes, and threads that don't run the function's JavaScript (UNAVAILABLE). The function is borrowed
 * until tn_xla_function_close(). TN_OUT_OF_MEMORY: there are TN_XLA_FUNCTIONS of them. */
TN_API int32_t tn_xla_function_open(tn_callback_t *callback, const tn_xla_function_t *function, void **out);

/* Ends a handler, on the thread of its JavaScript and not while it runs: it then answers UNAVAILABLE, until the place is
 * taken by another function. TN_NOT_FOUND: it is none. */
TN_API int32_t tn_xla_function_close(const void *handler);

/* Writes the call that a callback runs for: u32 operands, u32 results, u32 attributes, u32 0; the buffers, as i32 dtype, u32
 * rank, u64 pointer, i64 dimensions; then the attributes as in a descriptor (xla/frame.c). `*length` is what all of it takes:
 * with more than `capacity`, nothing is to be read. TN_INVALID_ARGUMENT: the frame is none. */
TN_API int32_t tn_xla_function_read(const void *call, void *out, size_t capacity, size_t *length);

/* Says from inside a callback that the call failed, with an error of the runtime that called. The first failure counts. */
TN_API int32_t tn_xla_function_fail(void *call, int32_t code, const char *message);

/* --- xla/cuda.c: calls on a stream ---------------------------------------------------------------------------------- */

/* One stream, and the functions of the driver that the core itself calls for it: pointers to those of libcuda, whose
 * signatures these are (CUresult is an int, CUdeviceptr a uint64). The core links with no driver and looks for none.
 *
 * The memory is the caller's, until tn_cuda_stream_close(). tn_cuda_stream_open() fills in `device` and `memory`, which calls
 * are given by tn_xla_on_device() and tn_xla_give_memory(). */
typedef struct tn_cuda_stream {
  tn_xla_device_t device;
  tn_xla_memory_t memory;
  void *stream;  /* CUstream */
  void *context; /* CUcontext */
  int32_t (*set_current)(void *context);                           /* cuCtxSetCurrent */
  int32_t (*allocate)(uint64_t *out, size_t size, void *stream);   /* cuMemAllocAsync */
  int32_t (*release)(uint64_t memory, void *stream);               /* cuMemFreeAsync */
  int32_t (*begin_capture)(void *stream, int32_t mode);            /* cuStreamBeginCapture_v2 */
  int32_t (*end_capture)(void *stream, void **graph);              /* cuStreamEndCapture */
  int32_t (*synchronize)(void *stream);                            /* cuStreamSynchronize */
  struct tn_cuda_stream *next;                                     /* the core's own: among the streams of the thread */
} tn_cuda_stream_t;

/* Makes a stream ready whose `stream`, `context` and functions are set. If the thread of JavaScript that opened it ends before it
 * is closed, by force perhaps, its work is waited for: it may use memory that goes with the thread. */
TN_API int32_t tn_cuda_stream_open(tn_cuda_stream_t *stream);

/* Forgets a stream, on the thread that opened it. Nothing if it is not open. */
TN_API void tn_cuda_stream_close(tn_cuda_stream_t *stream);

/* Runs a prepared call like tn_xla_execute(), with the execute handler's work on the stream captured instead of done. `*graph`
 * is the caller's CUgraph to destroy; null if the run failed. What fails in the driver is a failure of the call. The handler must
 * not allocate: it gets FAILED_PRECONDITION. */
TN_API int32_t tn_cuda_capture(void *call, tn_cuda_stream_t *stream, void **graph);

/* How many errors, futures and states of handlers exist: for tests that look for leaks. */
TN_API size_t tn_xla_live_errors(void);
TN_API size_t tn_xla_live_futures(void);
TN_API size_t tn_xla_live_states(void);

#ifdef __cplusplus
}
#endif
#endif
