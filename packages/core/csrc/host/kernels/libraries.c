#include "libraries.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "id_table.h"
#include "packed_runtime.h"
#include "siblings.h"
#include "tensorflow_runtime.h"
#include "tenon_call.h"

static tn__id_table_t libraries;

static int32_t run_unguarded(void (*body)(void *), void *context, char *message, size_t capacity) {
  (void)message, (void)capacity;
  body(context);
  return TN_OK;
}

/* Where there is no C++ runtime, kernels run without a guard, and an exception ends the process. */
static const tn_guard_t *find_guard(void) {
  static tn_guard_t none;
  char path[4096];
  void *library = NULL, *guard = NULL;
  if (tn__sibling_path("tenon_guard", path, sizeof path) && tn_library_open(path, strlen(path), &library) == TN_OK &&
      tn_library_symbol(library, "tn_guard", 8, &guard) == TN_OK)
    return guard;
  none = (tn_guard_t){.run = run_unguarded};
  return &none;
}

/* The guard is opened with the first library, because it takes as long as the rest of the start. */
static void install_guard(void) {
  static bool is_installed;
  if (!is_installed) tn_guard_install(find_guard());
  is_installed = true;
}

/* Opens a library by its path and, behind a NUL, the identity of its file, which may be missing. */
static int32_t open_once(const char *path, size_t length, void **out) {
  const char *end = memchr(path, 0, length);
  if (end == NULL) return tn_library_open(path, length, out);
  const size_t path_length = (size_t)(end - path);
  return tn_library_open_file(path, path_length, end + 1, length - path_length - 1, out);
}

/* Loads the runtime that a library lacks: that of packed functions, which libraries are not linked with, or TensorFlow's C API. */
static int32_t load_runtime(void) {
  char reason[1024];
  snprintf(reason, sizeof reason, "%s", tn_last_error());
  if (strstr(reason, "TVM") != NULL) return tn__packed_runtime_load(strstr(reason, "TVMFFI") == NULL);
  return tn__tensorflow_is_missing(reason) ? tn__tensorflow_load() : TN_NOT_FOUND;
}

/* Opens a library. One that lacks a runtime is opened again after that was loaded. */
static int32_t open_library(const char *path, size_t length, void **out) {
  int32_t status = open_once(path, length, out);
  if (status != TN_OK && load_runtime() == TN_OK) status = open_once(path, length, out);
  if (status == TN_OK && tn__tensorflow.initialize != NULL) status = tn__tensorflow.initialize(*out);
  return status;
}

int32_t tn__serve_load(tn__request_t *request) {
  TN__CHECK(request, request->target != UINT32_MAX && tn__id_find(&libraries, request->target) == NULL,
            "the id of a new library must be new, got %u", request->target);
  TN__CHECK(request, request->length > 0 && request->length < 4096, "the path of a library must have 1 to 4095 bytes, got %zu",
            request->length);
  install_guard();
  tn__kernel_library_t *library = calloc(1, sizeof *library);
  char *path = calloc(1, request->length + 1);
  if (library == NULL || path == NULL || !tn__id_add(&libraries, request->target, library)) {
    free(library);
    free(path);
    return tn__refuse(request, TN_OUT_OF_MEMORY, "no memory to load a library");
  }
  memcpy(path, request->body, request->length);
  library->path = path;
  const int32_t status = open_library(path, request->length, &library->handle);
  if (status == TN_OK) return TN_OK;
  tn__id_remove(&libraries, request->target);
  free(library);
  free(path);
  const char *reason = tn_last_error();
  return tn__answer_error(request, TN_HOST_LOAD_ERROR, status, reason, strlen(reason));
}

tn__kernel_library_t *tn__library_of(uint32_t id) { return tn__id_find(&libraries, id); }

/* Finds a function whose name ends with the version of its symbol, such as memcpy@GLIBC_2.2.5. */
static int32_t find_version(const tn__kernel_library_t *library, const char *name, uint32_t length, void **out) {
  const char *at = memchr(name, '@', length);
  if (at == NULL || at == name) return TN_NOT_FOUND;
  const size_t own = (size_t)(at - name);
  return tn_library_versioned_symbol(library->handle, name, own, at + 1, length - own - 1, out);
}

int32_t tn__library_find(tn__request_t *request, const tn__kernel_library_t *library, const char *name, uint32_t length,
                         void **out) {
  *out = NULL;
  if (length == 0) return TN_OK;
  const int32_t status = tn_library_function(library->handle, name, length, out);
  if (status == TN_OK || (status == TN_NOT_FOUND && find_version(library, name, length, out) == TN_OK)) return TN_OK;
  const int shown = length > 512 ? 512 : (int)length;
  if (status == TN_INVALID_ARGUMENT) return tn__refuse(request, status, "%.*s must be a function, got data", shown, name);
  return tn__refuse(request, status, "%s does not export the symbol %.*s", library->path, shown, name);
}
