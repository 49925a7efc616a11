/* Loading modules: from library files, and from the symbols that a program registers. */
#include <stdlib.h>

#include "base/lock.h"
#include "module.h"

/* Creates the module of a library and takes over the library's prefix. `unmarked` is the generation of a library
 * without any mark of its compiler. 0, or -1 with an error raised. */
static int make_module(tn__library_t library, tn__generation_t unmarked, TVMFFIAny *result) {
  void **context = tn__library_symbol(&library, "__tvm_ffi__library_ctx");
  void **early_context = tn__library_symbol(&library, "__tvm_ffi_library_ctx");
  void **legacy_context = tn__library_symbol(&library, "__tvm_module_ctx");
  const char *bin = tn__library_symbol(&library, "__tvm_ffi__library_bin");
  const char *early_bin = tn__library_symbol(&library, "__tvm_ffi_library_bin");
  const char *blob = tn__library_symbol(&library, "__tvm_dev_mblob");
  tn__generation_t generation = unmarked;
  if (context != NULL || bin != NULL) {
    generation = TN_SYMBOLS_PREFIXED;
  } else if (early_context != NULL || early_bin != NULL) {
    generation = TN_SYMBOLS_PLAIN;
    context = early_context;
    bin = early_bin;
  } else if (legacy_context != NULL || blob != NULL) {
    generation = TN_SYMBOLS_LEGACY;
    context = legacy_context;
  }
  tn__fill_context(&library);
  const char *embedded = generation == TN_SYMBOLS_LEGACY ? blob : bin;
  tn__module_t *module, *own;
  if (embedded != NULL) {
    if (tn__read_embedded_modules(embedded, library, generation, &module, &own) != 0) return -1;
  } else {
    module = own = tn__module_new(library, generation);
    if (module == NULL) {
      free(library.prefix);
      return tn__no_memory();
    }
  }
  /* The variable does not retain the module, because the library's functions run only while their module lives. */
  if (context != NULL) *context = own;
  *result = tn__object(module);
  return 0;
}

static int load_library(const tn__call_t *call, tn__generation_t unmarked) {
  TVMFFIByteArray path;
  tn__library_t library = {NULL, NULL};
  if (tn__argument_text(call, 0, &path) != 0) return -1;
  if (tn_library_open(path.data, path.size, &library.dynamic) != TN_OK)
    return tn__raise("InternalError", "Failed to load dynamic shared library %.*s %s", (int)path.size, path.data,
                     tn_last_error());
  return make_module(library, unmarked, call->result);
}

static int load_dynamic(const tn__call_t *call) { return load_library(call, TN_SYMBOLS_PREFIXED); }

/* runtime.module.loadfile_so(path, format): a library without any mark has kernels of the convention before tvm-ffi */
static int load_legacy(const tn__call_t *call) { return load_library(call, TN_SYMBOLS_LEGACY); }

/* ffi.ModuleLoadFromFile(path): calls the loader that is registered for the file's extension */
static int load_file(const tn__call_t *call) {
  TVMFFIByteArray path;
  if (tn__argument_text(call, 0, &path) != 0) return -1;
  size_t dot = path.size;
  while (dot > 0 && path.data[dot - 1] != '.') dot--;
  if (dot == 0) return tn__raise("RuntimeError", "Failed to get file format from %.*s", (int)path.size, path.data);
  TVMFFIByteArray format = {path.data + dot, path.size - dot};
  if (tn__same(format, TN_SPAN("dll")) || tn__same(format, TN_SPAN("dylib")) || tn__same(format, TN_SPAN("dso")))
    format = TN_SPAN("so");
  char name[TN_LOADER_NAME];
  TVMFFIObjectHandle loader = tn__find_loader("ffi.Module.load_from_file.", format, name);
  if (loader == NULL)
    return tn__raise("RuntimeError",
                     "Loader for `.%.*s` files is not registered, resolved to (%s) in the global registry.",
                     (int)format.size, format.data, name);
  TVMFFIAny arguments[2] = {call->args[0], tn__none()};
  int status = tn__text(format.data, format.size, &arguments[1]);
  if (status == 0) status = TVMFFIFunctionCall(loader, arguments, 2, call->result);
  tn__clear(&arguments[1]);
  tn__release(loader);
  return status;
}

/* ffi.SystemLib([prefix]): always the same module for a prefix */
static int system_module(const tn__call_t *call) {
  static tn__lock_t lock = TN__LOCK;
  static tn__names_t modules;
  TVMFFIByteArray prefix = {"", 0};
  if (call->num_args > 1) return tn__expect_count(call, 1);
  if (call->num_args == 1 && tn__argument_text(call, 0, &prefix) != 0) return -1;
  tn__lock(&lock);
  void *known = tn__names_get(&modules, prefix);
  if (known != NULL) tn__retain(known);
  tn__unlock(&lock);
  *call->result = tn__object(known);
  if (known != NULL) return 0;
  tn__library_t library = {NULL, tn__duplicate(prefix)};
  if (library.prefix == NULL) return tn__no_memory();
  if (make_module(library, TN_SYMBOLS_PREFIXED, call->result) != 0) return -1;
  TVMFFIAny unused = tn__none();
  tn__lock(&lock);
  void **place = tn__names_add(&modules, prefix);
  if (place != NULL && *place != NULL) {
    /* Another thread was faster. */
    unused = *call->result;
    *call->result = tn__object(*place);
  } else if (place != NULL) {
    *place = call->result->v_obj;
  }
  if (place != NULL) tn__retain(*place);
  tn__unlock(&lock);
  tn__clear(&unused);
  return 0;
}

const tn__builtin_t tn__library_builtins[] = {
    {"ffi.Module.load_from_file.so", load_dynamic, 2, 0},
    {"runtime.module.loadfile_so", load_legacy, 2, 0},
    {"ffi.ModuleLoadFromFile", load_file, 1, 0},
    {"ffi.SystemLib", system_module, TN_ANY_COUNT, 0},
    {.name = NULL},
};
