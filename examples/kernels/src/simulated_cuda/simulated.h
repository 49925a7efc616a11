/* A SIMULATED CUDA driver: a shared library with the functions of libcuda that Tenon uses, over memory of the Host. For tests on
 * machines without a GPU. It computes nothing a GPU would compute faster, and proves nothing about one; what it does is to be
 * as strict as the real driver is said to be, and to count what is open.
 *
 * - Device memory lies at addresses that no processor can follow: the Host's own with bit 47 set.
 * - A stream is a queue with a thread of its own: what is enqueued runs later, in order.
 * - Kernels are the few functions of kernels.c; a module is PTX text that names some of them.
 * - simulated_* functions (control.c) inject errors, hold all streams back, and tell what is open.
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

enum {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NOT_INITIALIZED = 3,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_INVALID_DEVICE = 101,
  CUDA_ERROR_INVALID_CONTEXT = 201,
  CUDA_ERROR_INVALID_PTX = 218,
  CUDA_ERROR_INVALID_HANDLE = 400,
  CUDA_ERROR_NOT_FOUND = 500,
  CUDA_ERROR_NOT_READY = 600,
  CUDA_ERROR_ILLEGAL_ADDRESS = 700,
  CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712,
  CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED = 713,
  CUDA_ERROR_LAUNCH_FAILED = 719,
  CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
  CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901,
  CUDA_ERROR_STREAM_CAPTURE_UNMATCHED = 903,
};

/* --- state.c ------------------------------------------------------------------------------------------------------ */

/* What can be open. */
typedef enum { SIM_MEMORY, SIM_STREAM, SIM_EVENT, SIM_MODULE, SIM_GRAPH, SIM_GRAPH_EXEC, SIM_PINNED, SIM_CONTEXT, SIM_KINDS } sim_kind_t;

/* The start of everything that is open, in one list: handles that are not in it are refused. */
typedef struct sim_object {
  struct sim_object *next;
  sim_kind_t kind;
} sim_object_t;

/* One lock for all; `changed` is signalled whenever something ran or is to run. */
extern pthread_mutex_t sim_lock;
extern pthread_cond_t sim_changed;

void sim_open(sim_object_t *object, sim_kind_t kind);
/* The object of a handle, or null. */
sim_object_t *sim_find(const void *handle, sim_kind_t kind);
void sim_close(sim_object_t *object);

/* What `name` has to return before it does anything: an injected error, a sticky one, a missing context. The lock is held. */
CUresult sim_enter(const char *name, int needs_context);

extern CUresult sim_sticky; /* what every call returns after a kernel has failed; 0 until then */
extern int sim_held;        /* while non-zero, streams start nothing */

#define SIM_ENTER(name, needs_context)                            \
  pthread_mutex_lock(&sim_lock);                                  \
  {                                                               \
    const CUresult refused = sim_enter(name, needs_context);      \
    if (refused != CUDA_SUCCESS) return sim_leave(refused);       \
  }
CUresult sim_leave(CUresult result);

/* --- memory.c ----------------------------------------------------------------------------------------------------- */

/* The Host address of `size` bytes of device memory; null unless they lie in one live allocation. The lock is held. */
void *sim_host(CUdeviceptr address, size_t size);
CUresult sim_release(CUdeviceptr address);
extern size_t sim_capacity, sim_used;

/* --- stream.c ----------------------------------------------------------------------------------------------------- */

#define SIM_MOST_PARAMETERS 8

/* One piece of work of a stream. Runs with the lock held. */
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

/* Appends a copy of `work` to a stream, or to what it captures. The lock is held. */
CUresult sim_enqueue(CUstream stream, const sim_work_t *work);

/* --- kernels.c ---------------------------------------------------------------------------------------------------- */

typedef struct sim_kernel {
  const char *name;
  int parameters;
  CUresult (*run)(const sim_work_t *work);
} sim_kernel_t;

const sim_kernel_t *sim_kernel(const char *name, size_t length);

#endif
