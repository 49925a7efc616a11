/* A library as the LLVM code generator of TVM to 0.20 writes it. The loader fills its variables, and its entry is the
 * name of a function. */
#include "legacy.h"
#include "tenon/tvm_backend.h"

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

/* y = x + 1, in parallel, with the checks that the compiler generates for every kernel. */
PACKED(add_one) {
  if (num_args != 2) return refuse("Assert fail: (num_args == 2), add_one: num_args should be 2");
  if (!is_tensor(codes[0])) return refuse("Assert fail: add_one: Expect arg[0] to be pointer");
  if (!is_tensor(codes[1])) return refuse("Assert fail: add_one: Expect arg[1] to be pointer");
  const DLTensor *x = args[0].v_handle, *y = args[1].v_handle;
  if (x->ndim != 1)
    return refuse("Assert fail: (1 == tir.tvm_struct_get(x, 0, 4)), add_one.x.ndim is expected to equal 1");
  if (x->dtype.code != kDLFloat) return refuse("Assert fail: add_one.x.dtype is expected to be float32");
  add_t add = {x->data, y->data, x->shape[0]};
  return __TVMBackendParallelLaunch(add_part, &add, 0);
}

/* Returns x * factor. Both must be floats, because the checks of the compiler refuse an int. */
PACKED(scale) {
  if (num_args != 2) return refuse("scale: num_args should be 2");
  if (codes[0] != kTVMArgFloat || codes[1] != kTVMArgFloat) return refuse("TypeError: scale takes floats");
  return give_float(ret, ret_code, args[0].v_float64 * args[1].v_float64);
}

/* Returns the type code of its argument. */
PACKED(type_code) {
  if (num_args != 1) return refuse("type_code takes one argument");
  return give_int(ret, ret_code, codes[0]);
}

/* Calls the global function `test.legacy.helper`, and returns its result. */
PACKED(ask_helper) {
  void *function;
  if (__TVMBackendGetFuncFromEnv(__tvm_module_ctx, "test.legacy.helper", &function) != 0) return -1;
  return __TVMFuncCall(function, args, codes, num_args, ret, ret_code);
}
