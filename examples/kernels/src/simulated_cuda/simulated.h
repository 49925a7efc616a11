/* A SIMULATED CUDA driver for tests on machines without a GPU. It is a shared library with the functions of libcuda
 * that Tenon uses, over memory of the Host. It is as strict as the documentation of the real driver, and it counts the
 * open objects. It proves nothing about a real GPU.
 *
 * - Addresses of device memory are addresses of the Host with bit 47 set, so no processor can access them.
 * - A stream is a queue with a thread of its own, which runs the work later and in order.
 * - kernels.c has the kernels. A module is PTX text that names some of them.
 * - The functions simulated_* in state.c inject errors, pause all streams, and count the open objects.
 *
 * Names, signatures and numbers are those of cuda.h 13.0. */
#ifndef TENON_SIMULATED_CUDA_H
#define TENON_SIMULATED_CUDA_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_API __attribute__((visibility("default")))

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct sim_context *CUcontext;
typedef struct sim_stream *CUstream;
typedef struct sim_event *CUevent;
typedef struct sim_module *CUmodule;
typedef const struct sim_kernel *CUfunction;
typedef struct sim_graph *CUgraph;
typedef struct sim_graph *CUgraphExec;
typedef void (*CUhostFn)(void *data);

/* The results of the driver: name, number and text. */
#define SIM_RESULTS(_)                                                                                                 \
  _(CUDA_SUCCESS, 0, "no error")                                                                                       \
  _(CUDA_ERROR_INVALID_VALUE, 1, "invalid argument")                                                                   \
  _(CUDA_ERROR_OUT_OF_MEMORY, 2, "out of memory")                                                                      \
  _(CUDA_ERROR_NOT_INITIALIZED, 3, "initialization error")                                                             \
  _(CUDA_ERROR_NO_DEVICE, 100, "no CUDA-capable device is detected")                                                   \
  _(CUDA_ERROR_INVALID_DEVICE, 101, "invalid device ordinal")                                                          \
  _(CUDA_ERROR_INVALID_CONTEXT, 201, "invalid device context")                                                         \
  _(CUDA_ERROR_INVALID_PTX, 218, "a PTX JIT compilation failed")                                                       \
  _(CUDA_ERROR_INVALID_HANDLE, 400, "invalid resource handle")                                                         \
  _(CUDA_ERROR_NOT_FOUND, 500, "named symbol not found")                                                               \
  _(CUDA_ERROR_NOT_READY, 600, "device not ready")                                                                     \
  _(CUDA_ERROR_ILLEGAL_ADDRESS, 700, "an illegal memory access was encountered")                                       \
  _(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, 712, "part or all of the requested memory range is already mapped")     \
  _(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, 713, "pointer does not correspond to a registered memory region")           \
  _(CUDA_ERROR_LAUNCH_FAILED, 719, "unspecified launch failure")                                                       \
  _(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, 900, "operation not permitted when stream is capturing")                    \
  _(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, 901, "operation failed due to a previous error during capture")             \
  _(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, 903, "capture was not initiated in this stream")

#define SIM_RESULT(name, number, text) name = number,
enum { SIM_RESULTS(SIM_RESULT) };
#undef SIM_RESULT

/* --- state.c ------------------------------------------------------------------------------------------------------ */

/* The kinds of objects. */
typedef enum {
  SIM_MEMORY, SIM_STREAM, SIM_EVENT, SIM_MODULE, SIM_GRAPH, SIM_GRAPH_EXEC, SIM_PINNED, SIM_CONTEXT, SIM_KINDS
} sim_kind_t;

/* The head of every open object. All of them are in one list, and handles that are not in the list are refused. */
typedef struct sim_object {
  struct sim_object *next;
  sim_kind_t kind;
} sim_object_t;

/* The lock of the whole driver. `sim_changed` is signalled when work was enqueued or done. */
extern pthread_mutex_t sim_lock;
extern pthread_cond_t sim_changed;

void sim_open(sim_object_t *object, sim_kind_t kind);
/* Returns the open object of a handle, or null. */
sim_object_t *sim_find(const void *handle, sim_kind_t kind);
void sim_close(sim_object_t *object);

/* Returns the error with which the function `name` must fail at once: an injected error, a sticky error, or a missing
 * context. The lock is held. */
CUresult sim_enter(const char *name, int needs_context);

extern CUresult sim_sticky; /* the result of every call after a kernel has failed */
extern size_t sim_capacity; /* the memory of the device, in bytes */
extern int sim_held;        /* nonzero while all streams are paused */

/* Takes the lock until the end of the block. */
#define SIM_LOCK() __attribute__((cleanup(sim_unlock))) const int locked = pthread_mutex_lock(&sim_lock)

/* Begins a function of the driver. Takes the lock, and returns the result of sim_enter() if that is an error. */
#define SIM_ENTER(name, needs_context)                     \
  SIM_LOCK();                                              \
  const CUresult refused = sim_enter(name, needs_context); \
  if (refused != CUDA_SUCCESS) return refused

static inline void sim_unlock(__attribute__((unused)) const int *locked) { pthread_mutex_unlock(&sim_lock); }

/* --- memory.c ----------------------------------------------------------------------------------------------------- */

/* Returns the Host address of `size` bytes of device memory, or null unless they lie in one live allocation. The lock
 * is held. */
void *sim_host(CUdeviceptr address, size_t size);
CUresult sim_release(CUdeviceptr address);

/* --- stream.c ----------------------------------------------------------------------------------------------------- */

#define SIM_MOST_PARAMETERS 8

/* One piece of work of a stream. `run` is called with the lock held. */
typedef struct sim_work {
  struct sim_work *next;
  CUresult (*run)(struct sim_work *work);
  void *to;
  const void *from;
  size_t size;
  CUdeviceptr device_to, device_from;
  CUevent event;
  uint64_t number;
  CUhostFn host;
  CUfunction kernel;
  unsigned grid, block;
  uint64_t parameters[SIM_MOST_PARAMETERS];
} sim_work_t;

/* Appends a copy of `work` to a stream, or to the graph that the stream captures. The lock is held. */
CUresult sim_enqueue(CUstream stream, const sim_work_t *work);

/* --- kernels.c ---------------------------------------------------------------------------------------------------- */

typedef struct sim_kernel {
  const char *name;
  int parameters;
  CUresult (*run)(const sim_work_t *work);
} sim_kernel_t;

const sim_kernel_t *sim_kernel(const char *name, size_t length);

#endif
