/* A kernel of TVM to 0.20 that was written by hand: its library has nothing besides that tells what it is. */
#include "tenon/tvm_runtime.h"

/* Half of its argument, a float. */
TVM_RUNTIME_EXPORT int halve(TVMValue *args, int *codes, int num_args, TVMValue *ret, int *ret_code, void *resource) {
  (void)resource;
  if (num_args != 1 || codes[0] != kTVMArgFloat) return -1;
  ret->v_float64 = args[0].v_float64 / 2;
  *ret_code = kTVMArgFloat;
  return 0;
}
