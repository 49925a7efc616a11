/* What TVM's compiler puts into a library: variables that the loader fills, and kernels that call through them. The three
 * versions of the names are in tvm_021.c, tvm_022.c and tvm_026.c. */
#ifndef TENON_KERNELS_COMPILED_H
#define TENON_KERNELS_COMPILED_H

#include "tenon/tvm_backend.h"
#include "tenon/tvm_ffi.h"

/* Filled by the loader. */
TVM_FFI_EXPORT int (*__TVMFFIFunctionCall)(TVMFFIObjectHandle, TVMFFIAny *, int32_t, TVMFFIAny *);
TVM_FFI_EXPORT void (*__TVMFFIErrorSetRaisedFromCStr)(const char *, const char *);
TVM_FFI_EXPORT void *(*__TVMBackendAllocWorkspace)(int, int, uint64_t, int, int);
TVM_FFI_EXPORT int (*__TVMBackendFreeWorkspace)(int, int, void *);
TVM_FFI_EXPORT int (*__TVMBackendParallelLaunch)(FTVMParallelLambda, void *, int);
TVM_FFI_EXPORT int (*__TVMBackendParallelBarrier)(int, TVMParallelGroupEnv *);

typedef struct {
  const float *x;
  float *squares, *y;
  int64_t length;
  int fails;
} running_t;

/* One task: squares its part, waits for the others, and adds what the neighbour computed. */
static int run_task(int task_id, TVMParallelGroupEnv *env, void *closure_data) {
  const running_t *run = closure_data;
  if (run->fails && task_id == env->num_task - 1) {
    __TVMFFIErrorSetRaisedFromCStr("ValueError", "the last task failed");
    return -1;
  }
  int64_t first = run->length * task_id / env->num_task, last = run->length * (task_id + 1) / env->num_task;
  for (int64_t i = first; i < last; i++) run->squares[i] = run->x[i] * run->x[i];
  if (!run->fails && __TVMBackendParallelBarrier(task_id, env) != 0) return -1;
  for (int64_t i = first; i < last; i++) run->y[i] = run->squares[i] + run->squares[(i + 1) % run->length];
  return 0;
}

/* y[i] = x[i]^2 + x[i + 1]^2 (the last with the first), in parallel, with scratch memory of the host. The third argument
 * is the number of tasks, a fourth makes one of them fail. */
static inline int square_neighbours(const TVMFFIAny *args, int32_t num_args) {
  if (num_args < 3) {
    __TVMFFIErrorSetRaisedFromCStr("TypeError", "Expected 3 arguments when calling `square_neighbours(x, y, tasks)`");
    return -1;
  }
  const DLTensor *x = (const DLTensor *)(const void *)(args[0].v_obj + 1);
  const DLTensor *y = (const DLTensor *)(const void *)(args[1].v_obj + 1);
  running_t run = {.x = x->data, .y = y->data, .length = x->shape[0], .fails = num_args > 3};
  run.squares = __TVMBackendAllocWorkspace(kDLCPU, 0, (uint64_t)run.length * sizeof(float), kDLFloat, 32);
  if (run.squares == NULL) return -1;
  int status = __TVMBackendParallelLaunch(run_task, &run, (int)args[2].v_int64);
  if (__TVMBackendFreeWorkspace(kDLCPU, 0, run.squares) != 0) return -1;
  return status;
}

#endif
