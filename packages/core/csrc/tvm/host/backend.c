/* Binding tvm-ffi, and the functions that compiled kernels import or reach through variables of their library. */
#include "error.h"
#include "tenon/tvm_backend.h"

#include "../once.h"
#include "guarded.h"

int TVMBackendGetFuncFromEnv(void *library_ctx, const char *name, void **out) {
  return tn__ffi.TVMFFIEnvModLookupFromImports(library_ctx, name, out);
}

int TVMBackendRunOnce(void **handle, int (*run)(void *), void *closure_data, int byte_size) {
  static char done;
  tn__once_t once;
  (void)byte_size;
  const tn__once_state_t state = tn__once_begin(&once, handle);
  if (state == TN__ONCE_DONE) return 0;
  if (state == TN__ONCE_CIRCULAR) return tn__packed_raise("RuntimeError", TN__ONCE_CIRCULAR_TEXT);
  const int status = tn__guarded(run, closure_data);
  tn__once_end(&once, status == 0 ? &done : NULL);
  return status;
}

static int32_t register_symbols(void) {
  /* The names of all generations of compilers: each library has the variables of its own generation. */
  const struct {
    const char *name;
    void *function;
  } symbols[] = {
      {"__TVMFFIFunctionCall", (void *)(uintptr_t)tn__ffi.TVMFFIFunctionCall},
      {"__TVMFFIErrorSetRaisedFromCStr", (void *)(uintptr_t)tn__ffi.TVMFFIErrorSetRaisedFromCStr},
      {"__TVMFFIEnvModLookupFromImports", (void *)(uintptr_t)tn__ffi.TVMFFIEnvModLookupFromImports},
      {"__TVMFFIHandleInitOnce", (void *)(uintptr_t)tn__ffi.TVMFFIHandleInitOnce},
      {"__TVMBackendGetFuncFromEnv", (void *)(uintptr_t)TVMBackendGetFuncFromEnv},
      {"__TVMBackendAllocWorkspace", (void *)(uintptr_t)TVMBackendAllocWorkspace},
      {"__TVMBackendFreeWorkspace", (void *)(uintptr_t)TVMBackendFreeWorkspace},
      {"__TVMBackendParallelLaunch", (void *)(uintptr_t)TVMBackendParallelLaunch},
      {"__TVMBackendParallelBarrier", (void *)(uintptr_t)TVMBackendParallelBarrier},
  };
  for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
    if (symbols[i].function == NULL) continue;
    if (tn__ffi.TVMFFIEnvModRegisterContextSymbol(symbols[i].name, symbols[i].function) != 0) return TN_OUT_OF_MEMORY;
  }
  return TN_OK;
}

int32_t tn_packed_bind(void *library) {
  static atomic_flag bound = ATOMIC_FLAG_INIT;
  if (atomic_flag_test_and_set(&bound)) return TN_OK;
  int32_t status = tn__ffi_find(library);
  if (status == TN_OK) status = register_symbols();
  if (status != TN_OK) atomic_flag_clear(&bound);
  return status;
}
