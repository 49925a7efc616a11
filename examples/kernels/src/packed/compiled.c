/* A library as TVM's compiler generates it: variables that the loader fills, and kernels that call through them. */
#include "generation.h"
#include "tenon/tvm_backend.h"

/* The loader fills these variables, too. */
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

/* Squares the elements of one task, waits for the other tasks, and adds to each square that of its neighbour. */
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

#if TVM_GENERATION == 21
#define SQUARE_NEIGHBOURS square_neighbours_021
#else
#define SQUARE_NEIGHBOURS SYMBOL(square_neighbours)
#endif

/* y[i] = x[i]^2 + x[i + 1]^2, where the first element follows the last one, in parallel, with scratch memory of the
 * host. The third argument is the number of tasks. A fourth argument makes one of them fail. */
PACKED(SQUARE_NEIGHBOURS) {
  if (num_args < 3) {
    __TVMFFIErrorSetRaisedFromCStr("TypeError", "Expected 3 arguments when calling `square_neighbours(x, y, tasks)`");
    return -1;
  }
  const DLTensor *x = TVMFFITensorGetDLTensorPtr(args[0].v_obj), *y = TVMFFITensorGetDLTensorPtr(args[1].v_obj);
  running_t run = {.x = x->data, .y = y->data, .length = x->shape[0], .fails = num_args > 3};
  run.squares = __TVMBackendAllocWorkspace(kDLCPU, 0, (uint64_t)run.length * sizeof(float), kDLFloat, 32);
  if (run.squares == NULL) return -1;
  int status = __TVMBackendParallelLaunch(run_task, &run, (int)args[2].v_int64);
  if (__TVMBackendFreeWorkspace(kDLCPU, 0, run.squares) != 0) return -1;
  return status;
}

/* Calls the function `test.compiled.helper` of an imported module, or the global one. */
PACKED(ENTRY) {
  void *function;
  if (LOOK_UP(LIBRARY_CONTEXT, "test.compiled.helper", &function) != 0) return -1;
  return __TVMFFIFunctionCall(function, (TVMFFIAny *)(uintptr_t)args, num_args, result);
}

#if TVM_GENERATION == 26
TVM_FFI_EXPORT int (*__TVMFFIHandleInitOnce)(void **, int (*)(void **));

static int count;

static int prepare(void **result) {
  count++;
  *result = &count;
  return 0;
}

/* Returns how often `prepare` was called, which is once. */
PACKED(__tvm_ffi_prepared) {
  static void *handle;
  if (__TVMFFIHandleInitOnce(&handle, prepare) != 0) return -1;
  return give_int(result, *(int *)handle);
}
#endif
