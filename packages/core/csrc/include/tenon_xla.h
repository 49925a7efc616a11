/* XLA custom calls. The rules of tenon.h hold for every function. */
#ifndef TENON_XLA_H
#define TENON_XLA_H

#include "tenon_call.h"

/* tenon/xla_ffi.h and tenon/xla_custom_call.h describe the ABI. The core also exports the functions that kernel
 * libraries expect of their runtime: XLA_FFI_GetApi(), xla::ffi::GetXlaFfiApi(), XlaCustomCallStatusSetSuccess() and
 * XlaCustomCallStatusSetFailure(). A prepared call is one block of the caller's memory, used by one thread at a
 * time. */

/* The newest version of XLA FFI is 0.TN_XLA_NEWEST_MINOR. */
#define TN_XLA_NEWEST_MINOR 4

/* The greatest depth of nested dictionaries of attributes. */
#define TN_XLA_DEEPEST 16

/* Asks a typed handler for its metadata. `handler` is its address, which must never be that of an arbitrary function;
 * `out` has room for a tn_xla_metadata_t (all 48 bytes). A function that does not answer is not a handler: the version is
 * 0.0 then, and its `struct_size` is 0.
 * TN_KERNEL_FAILED: the handler returned an error, with its code in `*code` and its message as the last error. */
TN_API int32_t tn_xla_metadata(void *handler, void *out, int32_t *code);

/* The start of a descriptor of a call. The records that follow are described in xla/frame.c. */
#define TN_XLA_DESCRIPTOR_MAGIC 0x31465854u /* "TXF1" */
typedef struct tn_xla_descriptor {
  uint32_t magic;
  uint32_t minor; /* of the version of XLA FFI */
  uint32_t operands;
  uint32_t results;
  uint32_t attributes;
  int32_t device_ordinal; /* -1 if it is not known */
  uint64_t handlers[4];   /* the addresses of the handlers of a run by stage; 0 for none */
} tn_xla_descriptor_t;

/* The start of a prepared call. */
typedef struct tn_xla_call_head {
  /* From the start of the call to an array of tn_xla_buffer_t, operands before results. Handlers get copies of them. */
  uint32_t buffers_offset;
  /* From the start of the call to the i64 dimensions of the first buffer, followed by those of the others. A scalar has one, which is 0. */
  uint32_t dims_offset;
} tn_xla_call_head_t;

/* The number of bytes that tn_xla_frame_build() needs for a descriptor, which starts with a tn_xla_descriptor_t. The
 * descriptor is aligned to 8 bytes and borrowed for the call. Its contents are checked. */
TN_API int32_t tn_xla_frame_size(const void *descriptor, size_t descriptor_size, size_t *out);

/* Lays out a prepared call in `memory`, which the caller owns, aligned to 64 bytes and in place until tn_xla_close().
 * It starts with a tn_xla_call_head_t. Before a run the caller sets the `data` of each buffer, which is null, and may set
 * the dimensions of buffers: those at `dims_offset`, because the `dims` of a buffer point to the copy of a handler. Each stage of a run
 * gets all words of its frame as they were set, so what a handler writes there does not change later runs. */
TN_API int32_t tn_xla_frame_build(const void *descriptor, size_t descriptor_size, void *memory, size_t memory_size);

/* Returns 1 if the last handler of a call has written to its frame, to a buffer, or to an attribute, otherwise 0. Its future does not
 * count. The `data` of the buffers must not have been set since the run. */
TN_API int32_t tn_xla_frame_written(const void *call);

/* Lends `data` to a call's handlers, which look it up by its type id from prepare on. Borrowed until tn_xla_close(). */
TN_API int32_t tn_xla_lend(void *call, int64_t type_id, void *data);

/* Registers a type for handlers of version 0.`minor`. `type_id` is the library's XLA_FFI_TypeId (8 bytes, which receive
 * the id if they are 0), `type_info` its XLA_FFI_TypeInfo or null, which 0.1 does not have. `*id` receives the id too.
 * TN_KERNEL_FAILED: the name or the id belongs to another type. `*code` receives the XLA code. */
TN_API int32_t tn_xla_type_register(int32_t minor, const char *name, size_t length, void *type_id, void *type_info,
                                    int64_t *id, int32_t *code);

/* Calls a library's function `XLA_FFI_Error* f(const XLA_FFI_Api*)`, or one that returns nothing, with the table of
 * version 0.`minor`, so that it registers its types and handlers. TN_KERNEL_FAILED: it returned an error, with its XLA
 * code in `*code` and its message as the last error. TN_EXCEPTION: it threw. */
TN_API int32_t tn_xla_provide(void *provider, int32_t minor, int32_t *code);

/* Makes XLA_FFI_GetApi() and its C++ twin return the table of 0.`minor`, or with 0 the newest one, to this thread.
 * Libraries that register themselves when they are loaded do not say which version they were built for. */
TN_API int32_t tn_xla_offer(int32_t minor);

/* The source of the memory that handlers allocate with DeviceMemory_Allocate. Both functions may be called on any
 * thread, return a status, and receive `data`. Memory that a handler does not free is freed when its run ends. */
typedef struct tn_xla_memory {
  size_t struct_size;
  int32_t (*allocate)(void *data, size_t size, size_t alignment, void **out);
  int32_t (*free)(void *data, void *memory, size_t size);
  void *data;
} tn_xla_memory_t;

/* Gives a call's handlers memory until tn_xla_close(). Null: 64-byte aligned host memory, which XLA does not offer. */
TN_API int32_t tn_xla_give_memory(void *call, const tn_xla_memory_t *memory);

/* A device that a call runs for. */
typedef struct tn_xla_device {
  size_t struct_size;
  int32_t has_stream;
  void *stream; /* the result of Stream_Get in the initialize and execute stages; null is the device's default stream */
  /* Null, or a function that makes the device current on the thread that will run handlers. Every result but 0 is a
   * failure. A device whose struct_size ends here does not have it. */
  int32_t (*enter)(void *data);
  void *data;
} tn_xla_device_t;

/* Binds a call to a device, so that its handlers have a stream and no thread pool. Borrowed until tn_xla_close(). */
TN_API int32_t tn_xla_on_device(void *call, const tn_xla_device_t *device);

/* Runs the instantiate handler, if any. Called once, before the first tn_xla_execute(), and fails like it. */
TN_API int32_t tn_xla_instantiate(void *call);

/* Runs the prepare, initialize and execute handlers that exist, and waits for a future. Allocates nothing.
 * TN_KERNEL_FAILED: a handler returned an error. TN_EXCEPTION: a handler threw. tn_xla_failure() reads both. */
TN_API int32_t tn_xla_execute(void *call);

/* Lets `call` use the instantiate state and the lent data of `original`, which stays open as long and is the only one
 * to be closed. The states of the prepare and initialize stages belong to each run. */
TN_API int32_t tn_xla_share(void *call, void *original);

/* Reads the failure of the last run: XLA code, stage, and message (at most `capacity` bytes, not NUL-terminated;
 * `*length` is its whole length). A completely copied message is forgotten. TN_NOT_FOUND: the run did not fail. */
TN_API int32_t tn_xla_failure(void *call, int32_t *code, int32_t *stage, char *message, size_t capacity,
                              size_t *length);

/* Destroys the states that handlers have set for a call, and its failure. The caller still owns the memory. A second
 * close is a no-op. TN_EXCEPTION: a deleter threw. */
TN_API int32_t tn_xla_close(void *call);

/* What libraries have registered under a name: the addresses of the handlers by stage, 0 for none; the traits that the
 * registration or the execute handler declares; and the minor version of XLA FFI 0.x. */
typedef struct tn_xla_registered {
  size_t struct_size; /* set by the caller */
  uint64_t handlers[5];
  uint32_t traits;
  int32_t minor;
} tn_xla_registered_t;

/* Looks up a registered handler. Platforms compare as in XLA: case is ignored, cpu is host, gpu is cuda.
 * TN_VERSION_MISMATCH: the only registration was refused because its version 0.x is too new; `out` is written.
 * TN_NOT_FOUND: no registration was accepted. */
TN_API int32_t tn_xla_find_handler(const char *name, size_t name_length, const char *platform, size_t platform_length,
                                   tn_xla_registered_t *out);

/* The number of refused registrations that are kept. */
#define TN_XLA_MOST_REFUSED 4096

/* The start of an entry of a list of registrations. The name, the platform and the reason follow, padded to a multiple
 * of 8. The reason of an accepted registration is empty. */
typedef struct tn_xla_registration {
  uint32_t name_length, platform_length, reason_length;
  int32_t major, minor; /* of the execute handler; -1 if it was not asked, or did not answer */
  uint32_t is_untyped;  /* 1 for a function of an untyped convention, which has no version */
} tn_xla_registration_t;

/* As tn_xla_registered_function(), for this process. TN_NOT_FOUND: none is registered. */
TN_API int32_t tn_xla_find_function(const char *name, size_t name_length, const char *platform, size_t platform_length,
                                    uint64_t *address);

/* Lists the registrations of handlers and functions, also those that were refused, the newest first. `*length` is the size of the
 * whole list, which is incomplete if that exceeds `capacity`. */
TN_API int32_t tn_xla_list_handlers(void *out, size_t capacity, size_t *length);

/* The contents of XlaCustomCallStatus. All zeroes is success. The creator of a status clears it. */
struct XlaCustomCallStatus_ {
  int32_t failed;
  size_t length;
  char *message; /* not NUL-terminated; null when empty; of malloc() */
};

/* A call of an untyped convention (tenon/xla_custom_call.h), laid out by the caller, for one thread at a time. */
typedef struct tn_xla_untyped_call {
  void (*function)(void);
  int32_t api_version; /* TN_XLA_CALL_ORIGINAL, _STATUS_RETURNING or _UNIFIED */
  int32_t on_device;   /* 0: a host convention; 1: that of CUDA and ROCm */
  void **buffers;      /* the pointers of the operands (host), or of all operands and results (devices) */
  void **out;          /* host: the place from which the argument `out` is read at each call */
  const char *opaque;
  size_t opaque_length;
  void *stream;
  struct XlaCustomCallStatus_ status; /* of the last run, owned by the core; zero before the first run */
  const tn_xla_device_t *device;      /* null, or the device that is made current before the call */
} tn_xla_untyped_call_t;

/* Runs an untyped call under the guard. TN_KERNEL_FAILED: it set a failure, which tn_xla_untyped_failure() reads. */
TN_API int32_t tn_xla_execute_untyped(void *call);

/* Reads the message of the failure of the last run (at most `capacity` bytes, not NUL-terminated; `*length` is its
 * whole length). A message that was copied completely is freed. TN_NOT_FOUND: the run did not fail. */
TN_API int32_t tn_xla_untyped_failure(void *call, char *message, size_t capacity, size_t *length);

/* A batch of calls. */
typedef struct tn_xla_batch_entry {
  void *call;
  int64_t is_typed; /* 1: a prepared call; 0: an untyped one */
} tn_xla_batch_entry_t;

typedef struct tn_xla_batch {
  size_t count;
  size_t failed; /* after a failure: the index of the call that failed */
  const tn_xla_batch_entry_t *entries;
} tn_xla_batch_t;

/* Runs the calls in order up to the first that fails. Returns its status; the failure is read from that call. */
TN_API int32_t tn_xla_execute_batch(void *batch);

/* Entries: run the call whose address is `integers[0]` of the frame. */
TN_API int32_t tn_xla_execute_current(tn_call_frame_t *frame);
TN_API int32_t tn_xla_execute_untyped_current(tn_call_frame_t *frame);
TN_API int32_t tn_xla_execute_batch_current(tn_call_frame_t *frame);

/* Ends the run of a call of the kind TN_XLA_JOB_* that left one of these entries by a C++ exception, whose status the
 * caller of the entry has got, and whose message is the last error. Returns the status of the run, whose failure can be
 * read then. */
TN_API int32_t tn_xla_end_exception(void *call, int32_t kind, int32_t status);

/* A call that runs on a thread of the core, or an event that native code reports. Its end is a completion of the thread
 * of JavaScript that made it, with the status of tn_xla_execute(). */
typedef struct tn_xla_job tn_xla_job_t;

/* The kinds of calls that a job runs. */
enum { TN_XLA_JOB_UNTYPED = 0, TN_XLA_JOB_TYPED = 1, TN_XLA_JOB_BATCH = 2 };

/* Submits a prepared call, which occupies no thread while it waits for a future, an untyped one, or a batch. The memory
 * of the call belongs to the run until the completion `id`, or until the job is cancelled. */
TN_API int32_t tn_xla_async_submit(void *call, int32_t kind, int64_t id, const char *name, size_t name_length,
                                   tn_xla_job_t **out);

/* Cancels a job that is not complete, on the thread that submitted it. TN_NOT_FOUND: the job has started. */
TN_API int32_t tn_xla_async_cancel(tn_xla_job_t *job);

/* Makes a job for an event that is not a call. It ends with tn_xla_async_arrive(), or with tn_xla_async_forget() if the
 * event will not happen. */
TN_API int32_t tn_xla_async_expect(int64_t id, tn_xla_job_t **out);

/* Reports that an expected event has happened. Called once, with the job, on any thread. */
TN_API void tn_xla_async_arrive(void *job);

/* Frees the job of an event that will not happen. Never called after tn_xla_async_arrive(). */
TN_API void tn_xla_async_forget(tn_xla_job_t *job);

/* The type of one buffer of a TypeScript function. */
typedef struct tn_xla_function_buffer {
  int32_t dtype;
  int64_t rank;
  const int64_t *dims;
} tn_xla_function_buffer_t;

/* The operands and results that a TypeScript function accepts. One that `reads` checks its calls itself with
 * tn_xla_function_read(), and its `buffers` are ignored. */
typedef struct tn_xla_function {
  size_t operands, results;
  const tn_xla_function_buffer_t *buffers;
  void **data; /* receives the pointers to the buffers of a call; the callback reads them first */
  int64_t reads;
} tn_xla_function_t;

/* Creates a typed handler (`*out` is its address) that runs a callback with the function's `data` and the call. The
 * handler checks the frame, and refuses attributes and threads that do not run the function's JavaScript (UNAVAILABLE).
 * The function is borrowed until tn_xla_function_close(). TN_OUT_OF_MEMORY: no memory, or no address for a stub. */
TN_API int32_t tn_xla_function_open(tn_callback_t *callback, const tn_xla_function_t *function, void **out);

/* Closes a handler, on the thread of its JavaScript and not while it runs. Its address
 * returns UNAVAILABLE from then on. TN_NOT_FOUND: this is not an open handler. */
TN_API int32_t tn_xla_function_close(const void *handler);

/* Writes the call that a callback runs for: u32 operands, u32 results, u32 attributes, u32 0; the buffers, as i32
 * dtype, u32 rank, u64 pointer, i64 dimensions; then the attributes as in a descriptor (xla/frame.c). `*length` is the
 * size of the whole, which is incomplete if that exceeds `capacity`. TN_INVALID_ARGUMENT: the frame is malformed. */
TN_API int32_t tn_xla_function_read(const void *call, void *out, size_t capacity, size_t *length);

/* Makes the call of a callback fail with an error of the calling runtime. Only the first failure counts. */
TN_API int32_t tn_xla_function_fail(void *call, int32_t code, const char *message);

/* --- xla/cuda.c: calls on a CUDA stream --------------------------------------------------------------------------- */

/* A stream and the functions of libcuda that the core calls for it (CUresult is an int, CUdeviceptr a uint64). The core
 * neither links with a driver nor looks for one. The caller owns the memory. tn_cuda_stream_open() sets `device`, for
 * tn_xla_on_device(), and `memory`, for tn_xla_give_memory(). */
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
  struct tn_cuda_stream *next;                                     /* of the core: the next stream of the thread */
} tn_cuda_stream_t;

/* Opens a stream whose `stream`, `context` and functions are set. If the thread of JavaScript that opened it ends
 * before it is closed, the end of the thread waits for the work of the stream, which may use memory of the thread. */
TN_API int32_t tn_cuda_stream_open(tn_cuda_stream_t *stream);

/* Closes a stream, on the thread that opened it. A no-op if it is not open. */
TN_API void tn_cuda_stream_close(tn_cuda_stream_t *stream);

/* Runs a prepared call like tn_xla_execute(), but captures the work of the execute handler on the stream instead of
 * running it. The caller owns `*graph`, a CUgraph, which is null if the run failed. An error of the driver is a failure
 * of the call. Allocations of the handler fail with FAILED_PRECONDITION. */
TN_API int32_t tn_cuda_capture(void *call, tn_cuda_stream_t *stream, void **graph);

/* The numbers of errors, futures and states of handlers that exist. Tests use them to find leaks. */
TN_API size_t tn_xla_live_errors(void);
TN_API size_t tn_xla_live_futures(void);
TN_API size_t tn_xla_live_states(void);

#endif
