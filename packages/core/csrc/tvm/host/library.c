/* Opening a tvm-ffi library: this package's, or another that the program names or has loaded already. */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"

static _Thread_local char reason[512];

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
  if (*out != NULL) return TN_OK;
  const char *words = dlerror();
  snprintf(reason, sizeof reason, "%s", words != NULL ? words : "the loader gave no reason");
  return TN_LOAD_FAILED;
}

/* The loader's words after tn_packed_open_library() failed on this thread: NUL-terminated, valid until it fails again. */
TN_API const char *tn_packed_library_error(void) { return reason; }

/* The tvm-ffi library that the process has loaded already, or null. */
TN_API void *tn_packed_loaded_library(void) { return dlopen("libtvm_ffi.so", RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL | RTLD_NODELETE); }
