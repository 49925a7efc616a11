// Packed functions in C++ that throw, directly and from code that the runtime calls.
#include <new>
#include <stdexcept>
#include <string>

#include "tenon/tvm_backend.h"
#include "tenon/tvm_ffi.h"

#define PACKED(name) \
  extern "C" TVM_FFI_EXPORT int name([[maybe_unused]] void *self, [[maybe_unused]] const TVMFFIAny *args, \
                                     [[maybe_unused]] int32_t num_args, [[maybe_unused]] TVMFFIAny *result)

PACKED(__tvm_ffi_throw_runtime_error) { throw std::runtime_error("out of luck"); }
PACKED(__tvm_ffi_throw_bad_alloc) { throw std::bad_alloc(); }
PACKED(__tvm_ffi_throw_string) { throw std::string("a string"); }
PACKED(__tvm_ffi_throw_text) { throw "a text"; }
PACKED(__tvm_ffi_throw_int) { throw 42; }

// Calls its first argument, and throws after that. The result is then not valid.
PACKED(__tvm_ffi_call_and_throw) {
  if (num_args < 1 || args[0].type_index != kTVMFFIFunction) throw std::invalid_argument("call_and_throw takes a function");
  TVMFFIFunctionCall(args[0].v_obj, nullptr, 0, result);
  throw std::logic_error("after the call");
}

namespace {

// Throws in the task that the argument of the launch names, before the barrier that the others wait at.
int ThrowInTask(int task_id, TVMParallelGroupEnv *env, void *closure_data) {
  if (task_id == *static_cast<const int *>(closure_data)) throw std::out_of_range("in a task");
  return TVMBackendParallelBarrier(task_id, env);
}

int RunUnless(void *throws) {
  if (*static_cast<const bool *>(throws)) throw std::domain_error("in an initialisation");
  return 0;
}

}  // namespace

// Launches four tasks, of which the one with the number of the argument throws. With another number none throws.
PACKED(__tvm_ffi_throw_in_task) {
  if (num_args != 1 || args[0].type_index != kTVMFFIInt) throw std::invalid_argument("throw_in_task takes a number");
  int thrower = static_cast<int>(args[0].v_int64);
  return TVMBackendParallelLaunch(ThrowInTask, &thrower, 4);
}

// Initialises something once, unless the argument is true. The initialisation throws then.
PACKED(__tvm_ffi_throw_in_run_once) {
  if (num_args != 1 || args[0].type_index != kTVMFFIBool) throw std::invalid_argument("throw_in_run_once takes a bool");
  static void *handle;
  bool throws = args[0].v_int64 != 0;
  return TVMBackendRunOnce(&handle, RunUnless, &throws, 0);
}
