#include "siblings.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "tenon.h"

#if defined(__APPLE__)
#define EXTENSION ".dylib"
#else
#define EXTENSION ".so"
#endif

bool tn__sibling_path(const char *name, char *path, size_t size) {
  Dl_info core;
  if (dladdr((void *)(uintptr_t)tn_abi_version, &core) == 0 || core.dli_fname == NULL) return false;
  const char *end = strrchr(core.dli_fname, '/');
  const int directory = end == NULL ? 0 : (int)(end + 1 - core.dli_fname);
  const int length = snprintf(path, size, "%.*slib%s" EXTENSION, directory, core.dli_fname, name);
  return length > 0 && (size_t)length < size;
}
