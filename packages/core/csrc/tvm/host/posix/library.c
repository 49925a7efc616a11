/* Opening a tvm-ffi library on POSIX: this package's, one that the program names, or one that is already loaded. */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/floating_point.h"
#include "../host.h"

static _Thread_local char reason[512];

/* The official libtvm_ffi replaces the handler of SIGSEGV, which the JavaScript engine needs, so it is restored. */
int32_t tn_packed_open_library(const char *path, size_t size, void **out) {
  char *name = malloc(size + 1);
  if (name == NULL) return TN_OUT_OF_MEMORY;
  memcpy(name, path, size);
  name[size] = '\0';
  struct sigaction before;
  sigaction(SIGSEGV, NULL, &before);
  const tn__floating_point_t floating_point = tn__floating_point_save();
  *out = dlopen(name, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
  tn__floating_point_restore(floating_point);
  sigaction(SIGSEGV, &before, NULL);
  free(name);
  if (*out != NULL) return TN_OK;
  const char *message = dlerror();
  snprintf(reason, sizeof reason, "%s", message != NULL ? message : "the loader gave no reason");
  return TN_LOAD_FAILED;
}

const char *tn_packed_library_error(void) { return reason; }

#if defined(__APPLE__)
#define LIBRARY_NAME "libtvm_ffi.dylib"
#else
#define LIBRARY_NAME "libtvm_ffi.so"
#endif

void *tn_packed_loaded_library(void) {
  return dlopen(LIBRARY_NAME, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL | RTLD_NODELETE);
}

const char *tn_packed_library_path(void) {
  Dl_info info;
  const void *function = (const void *)(uintptr_t)tn__ffi.TVMFFIFunctionCall;
  return dladdr(function, &info) == 0 || info.dli_fname == NULL ? "" : info.dli_fname;
}
