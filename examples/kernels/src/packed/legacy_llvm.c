/* A library as the LLVM code generator of TVM to 0.20 made it: variables that the loader fills, and the entry's name as
 * text. */
#include "tenon/tvm_backend.h"
#include "tenon/tvm_runtime.h"

TVM_RUNTIME_EXPORT void *__tvm_module_ctx;
TVM_RUNTIME_EXPORT const char __tvm_main__[] = "add_one";
TVM_RUNTIME_EXPORT int (*__TVMFuncCall)(TVMFunctionHandle, TVMValue *, int *, int, TVMValue *, int *);
TVM_RUNTIME_EXPORT void (*__TVMAPISetLastError)(const char *);
TVM_RUNTIME_EXPORT int (*__TVMBackendGetFuncFromEnv)(void *, const char *, void **);
TVM_RUNTIME_EXPORT void *(*__TVMBackendAllocWorkspace)(int, int, uint64_t, int, int);
TVM_RUNTIME_EXPORT int (*__TVMBackendFreeWorkspace)(int, int, void *);
TVM_RUNTIME_EXPORT int (*__TVMBackendParallelLaunch)(FTVMParallelLambda, void *, int);

static int refuse(const char *message) {
  __TVMAPISetLastError(message);
  return -1;
}

static int is_tensor(int code) { return code == kTVMDLTensorHandle || code == kTVMNDArrayHandle; }

typedef struct {
  const float *x;
  float *y;
  int64_t length;
} add_t;

static int add_part(int task_id, TVMParallelGroupEnv *env, void *closure_data) {
  const add_t *add = closure_data;
  for (int64_t i = add->length * task_id / env->num_task; i < add->length * (task_id + 1) / env->num_task; i++)
    add->y[i] = add->x[i] + 1;
  return 0;
}

/* y = x + 1, in parallel; the checks are those that the compiler puts before every kernel. */
TVM_RUNTIME_EXPORT int add_one(TVMValue *args, int *codes, int num_args, TVMValue *ret, int *ret_code, void *resource) {
  (void)ret, (void)ret_code, (void)resource;
  if (num_args != 2) return refuse("Assert fail: (num_args == 2), add_one: num_args should be 2");
  if (!is_tensor(codes[0])) return refuse("Assert fail: add_one: Expect arg[0] to be pointer");
  if (!is_tensor(codes[1])) return refuse("Assert fail: add_one: Expect arg[1] to be pointer");
  const DLTensor *x = args[0].v_handle, *y = args[1].v_handle;
  if (x->ndim != 1) return refuse("Assert fail: (1 == tir.tvm_struct_get(x, 0, 4)), add_one.x.ndim is expected to equal 1");
  if (x->dtype.code != kDLFloat) return refuse("Assert fail: add_one.x.dtype is expected to be float32");
  add_t add = {x->data, y->data, x->shape[0]};
  return __TVMBackendParallelLaunch(add_part, &add, 0);
}

/* x * factor: the factor must be a float, an int is refused as the compiler's checks do. */
TVM_RUNTIME_EXPORT int scale(TVMValue *args, int *codes, int num_args, TVMValue *ret, int *ret_code, void *resource) {
  (void)resource;
  if (num_args != 2) return refuse("scale: num_args should be 2");
  if (codes[0] != kTVMArgFloat || codes[1] != kTVMArgFloat) return refuse("TypeError: scale takes floats");
  ret->v_float64 = args[0].v_float64 * args[1].v_float64;
  *ret_code = kTVMArgFloat;
  return 0;
}

/* The code of its argument as it arrives. */
TVM_RUNTIME_EXPORT int type_code(TVMValue *args, int *codes, int num_args, TVMValue *ret, int *ret_code, void *resource) {
  (void)args, (void)resource;
  if (num_args != 1) return refuse("type_code takes one argument");
  ret->v_int64 = codes[0];
  *ret_code = kTVMArgInt;
  return 0;
}

/* Calls the global function `test.legacy.helper` of the process and returns what it returns, a number. */
TVM_RUNTIME_EXPORT int ask_helper(TVMValue *args, int *codes, int num_args, TVMValue *ret, int *ret_code, void *resource) {
  (void)resource;
  void *function;
  if (__TVMBackendGetFuncFromEnv(__tvm_module_ctx, "test.legacy.helper", &function) != 0) return -1;
  return __TVMFuncCall(function, args, codes, num_args, ret, ret_code);
}
