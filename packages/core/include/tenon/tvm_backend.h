/* The functions that kernels compiled by TVM call at run time: threads, scratch memory, and functions of other
 * modules. */
#ifndef TENON_TVM_BACKEND_H
#define TENON_TVM_BACKEND_H

#include <stdint.h>

#if defined(_WIN32)
#define TVM_BACKEND_EXPORT __declspec(dllexport)
#else
#define TVM_BACKEND_EXPORT __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The state that the tasks of one launch share. */
typedef struct {
  void *sync_handle; /* private to the barrier */
  int32_t num_task;
} TVMParallelGroupEnv;

/* One task of a launch: 0, or nonzero with an error raised. */
typedef int (*FTVMParallelLambda)(int task_id, TVMParallelGroupEnv *env, void *closure_data);

/* Runs tasks 0 to num_task - 1 at the same time and waits for them. If num_task is 0, TVM_NUM_THREADS or
 * OMP_NUM_THREADS is the number of tasks, or else the number of processors. Returns 0, or -1 with the first error
 * raised on the calling thread. A launch inside a task runs with one task. */
TVM_BACKEND_EXPORT int TVMBackendParallelLaunch(FTVMParallelLambda task, void *closure_data, int num_task);

/* Waits until every task of the launch has reached the barrier: 0, or -1 with an error raised if a task failed. */
TVM_BACKEND_EXPORT int TVMBackendParallelBarrier(int task_id, TVMParallelGroupEnv *env);

/* Allocates scratch memory of the calling thread, aligned to 64 bytes and not zeroed; null without memory. It is
 * freed on the same thread, in reverse order. */
TVM_BACKEND_EXPORT void *TVMBackendAllocWorkspace(int device_type, int device_id, uint64_t byte_size, int dtype_code_hint,
                                                  int dtype_bits_hint);
TVM_BACKEND_EXPORT int TVMBackendFreeWorkspace(int device_type, int device_id, void *workspace);

/* Looks up a function in the imports of a module, then among the global functions. The result is borrowed. To TVM
 * 0.25. */
TVM_BACKEND_EXPORT int TVMBackendGetFuncFromEnv(void *library_ctx, const char *name, void **out);

/* Calls `run(closure_data)` if `*handle` is null, and sets `*handle` when it succeeds: once for all threads. To TVM
 * 0.25. */
TVM_BACKEND_EXPORT int TVMBackendRunOnce(void **handle, int (*run)(void *), void *closure_data, int byte_size);

#ifdef __cplusplus
}
#endif
#endif
