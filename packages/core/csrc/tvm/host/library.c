/* Opening a tvm-ffi library: this package's, or another that the program names or has loaded already. */
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"

/* Opens a library globally and for ever, so that kernels find its functions. The official libtvm_ffi installs a handler
 * for SIGSEGV when it is loaded, which the JavaScript engine needs for itself: the handler from before is put back. */
TN_API int32_t tn_packed_open_library(const char *path, size_t size, void **out) {
  char *name = malloc(size + 1);
  if (name == NULL) return TN_OUT_OF_MEMORY;
  memcpy(name, path, size);
  name[size] = '\0';
  struct sigaction before;
  sigaction(SIGSEGV, NULL, &before);
  *out = dlopen(name, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
  sigaction(SIGSEGV, &before, NULL);
  free(name);
  return *out == NULL ? TN_LOAD_FAILED : TN_OK;
}

/* The loader's words after tn_packed_open_library() failed: NUL-terminated, valid until the thread's next such call. */
TN_API const char *tn_packed_library_error(void) {
  const char *reason = dlerror();
  return reason == NULL ? "the loader gave no reason" : reason;
}

/* The tvm-ffi library that the process has loaded already, or null. */
TN_API void *tn_packed_loaded_library(void) { return dlopen("libtvm_ffi.so", RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL | RTLD_NODELETE); }
