/* The system's loader on POSIX. Libraries are never unmapped, because pointers into them may still be in use. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "library_file.h"
#include "loader.h"

/* Makes a NUL-terminated copy, which the caller frees. `what` is the name of the text in error messages. */
static int32_t terminate(const char *what, const char *text, size_t length, char **out) {
  TN_REQUIRE(memchr(text, 0, length) == NULL, "%s must not contain a NUL character", what);
  char *copy = malloc(length + 1);
  if (copy == NULL) return tn__fail(TN_OUT_OF_MEMORY, "out of memory: cannot copy the %s", what);
  memcpy(copy, text, length);
  copy[length] = 0;
  *out = copy;
  return TN_OK;
}

static int32_t terminate_path(const char *path, size_t path_length, void **out, char **name) {
  TN_REQUIRE(path != NULL && path_length != 0 && out != NULL,
             "path must not be null or empty, and out must not be null");
  return terminate("path", path, path_length, name);
}

int32_t tn_library_open(const char *path, size_t path_length, void **out) {
  char *name = NULL;
  TN_TRY(terminate_path(path, path_length, out, &name));
  const int32_t status = tn__library_file_open(name, NULL, out);
  free(name);
  return status;
}

int32_t tn_library_open_file(const char *path, size_t path_length, const char *identity, size_t identity_length,
                             void **out) {
  TN_REQUIRE(identity != NULL, "identity must not be null");
  char *name = NULL, *expected = NULL;
  TN_TRY(terminate_path(path, path_length, out, &name));
  int32_t status = terminate("identity", identity, identity_length, &expected);
  if (status == TN_OK) status = tn__library_file_open(name, expected, out);
  free(expected);
  free(name);
  return status;
}

int32_t tn_library_identity(const char *path, size_t path_length, char *out) {
  char *name = NULL;
  TN_TRY(terminate_path(path, path_length, (void **)(void *)out, &name));
  const bool is_found = tn__library_file_identity(name, out);
  free(name);
  return is_found ? TN_OK : tn__fail(TN_NOT_FOUND, "there is no file at the path");
}

int32_t tn_library_open_globally(const char *path, size_t path_length, void **out) {
  char *name = NULL;
  TN_TRY(terminate_path(path, path_length, out, &name));
  const int32_t status = tn__loader_open(name, RTLD_GLOBAL, out);
  free(name);
  return status;
}

void *tn_library_loaded(const char *name) { return dlopen(name, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE); }

int32_t tn_library_open_core(void **out) {
  TN_REQUIRE(out != NULL, "out must not be null");
  static const char here;
  Dl_info info;
  if (dladdr(&here, &info) == 0) return tn__fail(TN_NOT_FOUND, "the loader does not know the core");
  return tn__loader_open(info.dli_fname, RTLD_GLOBAL, out);
}

int32_t tn_library_process(void **out) {
  TN_REQUIRE(out != NULL, "out must not be null");
  void *library = dlopen(NULL, RTLD_NOW);
  if (library == NULL) return tn__fail(TN_LOAD_FAILED, "the loader cannot open the program itself");
  *out = library;
  return TN_OK;
}

int32_t tn_library_symbol(void *library, const char *name, size_t name_length, void **out) {
  TN_REQUIRE(library != NULL && name != NULL && out != NULL, "library, name and out must not be null");
  char *symbol = NULL;
  TN_TRY(terminate("name", name, name_length, &symbol));
  void *address = dlsym(library, symbol);
  free(symbol);
  if (address == NULL) return tn__fail(TN_NOT_FOUND, "the library does not export this symbol");
  *out = address;
  return TN_OK;
}

int32_t tn_library_versioned_symbol(void *library, const char *name, size_t name_length, const char *version,
                                    size_t version_length, void **out) {
  TN_REQUIRE(library != NULL && name != NULL && version != NULL && out != NULL,
             "library, name, version and out must not be null");
#if defined(__GLIBC__)
  char *symbol = NULL, *label = NULL;
  TN_TRY(terminate("name", name, name_length, &symbol));
  const int32_t status = terminate("version", version, version_length, &label);
  void *address = status == TN_OK ? dlvsym(library, symbol, label) : NULL;
  free(symbol);
  free(label);
  if (status != TN_OK) return status;
  if (address == NULL) return tn__fail(TN_NOT_FOUND, "the library does not export this version of the symbol");
  *out = address;
  return TN_OK;
#else
  (void)name_length, (void)version_length;
  return tn__fail(TN_UNSUPPORTED, "symbols have versions only on Linux with glibc");
#endif
}

int32_t tn_first_core(const char **path, const char **version) {
  TN_REQUIRE(path != NULL && version != NULL, "path and version must not be null");
  Dl_info info;
  /* The default search order finds the first core that was loaded globally. It may be another copy than this one. */
  const char *(*first_version)(void) = NULL;
  void *address = dlsym(RTLD_DEFAULT, "tn_version");
  if (address == NULL || dladdr(address, &info) == 0)
    return tn__fail(TN_NOT_FOUND, "no Tenon core is loaded globally in this process");
  memcpy(&first_version, &address, sizeof address);
  *path = info.dli_fname;
  *version = first_version();
  return TN_OK;
}
