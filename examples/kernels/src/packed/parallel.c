/* A packed function that runs tasks on the threads of the runtime. */
#include "ffi.h"
#include "tenon/tvm_backend.h"

typedef struct {
  TVMFFIObject *function;
  int64_t sums[256];
} call_each_t;

static int call_one(int task_id, TVMParallelGroupEnv *env, void *closure_data) {
  call_each_t *call = closure_data;
  TVMFFIAny argument = {.type_index = kTVMFFIInt, .v_int64 = task_id}, result = {.type_index = kTVMFFINone};
  /* All tasks run at the same time. */
  int status = TVMBackendParallelBarrier(task_id, env);
  if (status == 0) status = TVMFFIFunctionCall(call->function, &argument, 1, &result);
  if (status == 0 && result.type_index == kTVMFFIInt) call->sums[task_id] = result.v_int64;
  return status;
}

/* Calls a function with each number from 0 to n - 1, in a task of its own. Returns the sum of the returned ints. */
PACKED(__tvm_ffi_sum_in_parallel) {
  if (num_args != 2 || args[0].type_index != kTVMFFIFunction || args[1].type_index != kTVMFFIInt)
    return fail("TypeError", "sum_in_parallel takes a function and a number of tasks");
  call_each_t call = {.function = args[0].v_obj};
  if (TVMBackendParallelLaunch(call_one, &call, (int)args[1].v_int64) != 0) return -1;
  int64_t sum = 0;
  for (int i = 0; i < 256; i++) sum += call.sums[i];
  return give_int(result, sum);
}
