/* The system's loader on POSIX. Libraries are never unmapped, because pointers into them may still be in use. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "../internal.h"

/* Makes a NUL-terminated copy, which the caller frees. `what` names the text in messages. */
static int32_t terminate(const char *what, const char *text, size_t length, char **out) {
  if (memchr(text, 0, length) != NULL)
    return tn__fail(TN_INVALID_ARGUMENT, "%s must not contain a NUL character", what);
  char *copy = malloc(length + 1);
  if (copy == NULL) return tn__fail(TN_OUT_OF_MEMORY, "no memory for %s", what);
  memcpy(copy, text, length);
  copy[length] = 0;
  *out = copy;
  return TN_OK;
}

int32_t tn_library_open(const char *path, size_t path_length, void **out) {
  if (path == NULL || path_length == 0 || out == NULL)
    return tn__fail(TN_INVALID_ARGUMENT, "path must not be empty, and out must not be null");
  char *name = NULL;
  const int32_t status = terminate("path", path, path_length, &name);
  if (status != TN_OK) return status;
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  free(name);
  if (library == NULL) {
    const char *reason = dlerror();
    return tn__fail(TN_LOAD_FAILED, "%s", reason != NULL ? reason : "the loader gave no reason");
  }
  *out = library;
  return TN_OK;
}

int32_t tn_library_process(void **out) {
  if (out == NULL) return tn__fail(TN_INVALID_ARGUMENT, "out must not be null");
  void *library = dlopen(NULL, RTLD_NOW);
  if (library == NULL) return tn__fail(TN_LOAD_FAILED, "the loader cannot open the program itself");
  *out = library;
  return TN_OK;
}

int32_t tn_library_symbol(void *library, const char *name, size_t name_length, void **out) {
  if (library == NULL || name == NULL || out == NULL)
    return tn__fail(TN_INVALID_ARGUMENT, "library, name and out must not be null");
  char *symbol = NULL;
  const int32_t status = terminate("name", name, name_length, &symbol);
  if (status != TN_OK) return status;
  void *address = dlsym(library, symbol);
  free(symbol);
  if (address == NULL) return tn__fail(TN_NOT_FOUND, "the library does not export this symbol");
  *out = address;
  return TN_OK;
}

int32_t tn_first_core(const char **path, const char **version) {
  if (path == NULL || version == NULL) return tn__fail(TN_INVALID_ARGUMENT, "path and version must not be null");
  Dl_info info;
  /* The default search order finds the core that was loaded globally first, which may be another copy. */
  const char *(*first_version)(void) = NULL;
  void *address = dlsym(RTLD_DEFAULT, "tn_version");
  if (address == NULL || dladdr(address, &info) == 0)
    return tn__fail(TN_NOT_FOUND, "no Tenon core is loaded globally in this process");
  memcpy(&first_version, &address, sizeof address);
  *path = info.dli_fname;
  *version = first_version();
  return TN_OK;
}
