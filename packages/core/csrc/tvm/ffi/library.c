/* Libraries of kernels: opening them, their context variables, and symbols that a program registers itself. */
#include <stdio.h>
#include <stdlib.h>

#include "../../base/lock.h"
#include "module.h"
#include "tenon.h"

static tn__lock_t lock = TN__LOCK;
static tn__names_t context_symbols; /* what the loader writes into a library's variables of these names */
static tn__names_t system_symbols;  /* what the program registered */

static int register_symbol(tn__names_t *names, const char *name, void *symbol) {
  tn__lock(&lock);
  void **place = tn__names_add(names, (TVMFFIByteArray){name, strlen(name)});
  if (place != NULL) *place = symbol;
  tn__unlock(&lock);
  return place == NULL ? tn__no_memory() : 0;
}

int TVMFFIEnvModRegisterContextSymbol(const char *name, void *symbol) {
  return register_symbol(&context_symbols, name, symbol);
}

int TVMFFIEnvModRegisterSystemLibSymbol(const char *name, void *symbol) {
  return register_symbol(&system_symbols, name, symbol);
}

static void *system_symbol(const char *name) {
  tn__lock(&lock);
  void **place = tn__names_find(&system_symbols, (TVMFFIByteArray){name, strlen(name)});
  void *symbol = place == NULL ? NULL : *place;
  tn__unlock(&lock);
  return symbol;
}

/* `__tvm_ffi_f` with the prefix `p_` is registered as `__tvm_ffi_p_f`, every other name as `p_name`. */
static void *prefixed_system_symbol(const char *prefix, const char *name) {
  static const char marker[] = "__tvm_ffi_";
  size_t head = strncmp(name, marker, sizeof marker - 1) == 0 ? sizeof marker - 1 : 0;
  size_t prefix_size = strlen(prefix), name_size = strlen(name);
  char *full = malloc(prefix_size + name_size + 1);
  if (full == NULL) return NULL;
  memcpy(full, name, head);
  memcpy(full + head, prefix, prefix_size);
  memcpy(full + head + prefix_size, name + head, name_size - head + 1);
  void *symbol = system_symbol(full);
  free(full);
  return symbol;
}

void *tn__library_symbol(const tn__library_t *library, const char *name) {
  if (library->dynamic == NULL) {
    void *symbol = prefixed_system_symbol(library->prefix, name);
    return symbol != NULL ? symbol : system_symbol(name);
  }
  void *address = NULL;
  return tn_library_symbol(library->dynamic, name, strlen(name), &address) == TN_OK ? address : NULL;
}

/* Fills the context variables that the library has, whichever generation of compiler put them there. */
static void fill_context(const tn__library_t *library) {
  tn__lock(&lock);
  size_t count = context_symbols.used;
  tn__unlock(&lock);
  for (size_t i = 0; i < count; i++) {
    tn__lock(&lock);
    const tn__name_t entry = context_symbols.entries[i]; /* context symbols are never removed */
    tn__unlock(&lock);
    void **variable = tn__library_symbol(library, entry.key);
    if (variable != NULL) *variable = entry.value;
  }
}

int tn__module_from_library(tn__library_t library, tn__generation_t unmarked, TVMFFIAny *result) {
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
  fill_context(&library);
  tn__module_t *module, *own;
  if (bin != NULL) {
    if (tn__read_library_bin(bin, library, generation, &module, &own) != 0) return -1;
  } else if (generation == TN_SYMBOLS_LEGACY && blob != NULL) {
    if (tn__read_module_blob(blob, library, &module, &own) != 0) return -1;
  } else {
    module = own = tn__module_new(library, generation);
    if (module == NULL) {
      free(library.prefix);
      return tn__no_memory();
    }
  }
  /* Not a reference: the library's functions run only while their module lives. */
  if (context != NULL) *context = own;
  *result = tn__object(module);
  return 0;
}

static int load_library(const char *name, tn__generation_t unmarked, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  TVMFFIByteArray path;
  if (tn__expect_count(name, 2, num_args) != 0 || tn__argument_text(name, args, 0, &path) != 0) return -1;
  tn__library_t library = {NULL, NULL};
  if (tn_library_open(path.data, path.size, &library.dynamic) != TN_OK)
    return tn__raise("InternalError", "Failed to load dynamic shared library %.*s %s", (int)path.size, path.data,
                     tn_last_error());
  return tn__module_from_library(library, unmarked, result);
}

/* ffi.Module.load_from_file.so(path, format) */
static int load_dynamic(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  (void)self;
  return load_library("ffi.Module.load_from_file.so", TN_SYMBOLS_PREFIXED, args, num_args, result);
}

/* runtime.module.loadfile_so(path, format): a library without any mark has kernels of the convention before tvm-ffi */
static int load_legacy(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  (void)self;
  return load_library("runtime.module.loadfile_so", TN_SYMBOLS_LEGACY, args, num_args, result);
}

/* ffi.ModuleLoadFromFile(path): by extension */
static int load_file(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  (void)self;
  TVMFFIByteArray path;
  if (tn__expect_count("ffi.ModuleLoadFromFile", 1, num_args) != 0) return -1;
  if (tn__argument_text("ffi.ModuleLoadFromFile", args, 0, &path) != 0) return -1;
  size_t dot = path.size;
  while (dot > 0 && path.data[dot - 1] != '.') dot--;
  if (dot == 0) return tn__raise("RuntimeError", "Failed to get file format from %.*s", (int)path.size, path.data);
  TVMFFIByteArray format = {path.data + dot, path.size - dot};
  if (tn__same(format, TN_SPAN("dll")) || tn__same(format, TN_SPAN("dylib")) || tn__same(format, TN_SPAN("dso")))
    format = TN_SPAN("so");
  char loader[128];
  int length = snprintf(loader, sizeof loader, "ffi.Module.load_from_file.%.*s", (int)format.size, format.data);
  TVMFFIByteArray loader_name = {loader, (size_t)length};
  TVMFFIObjectHandle function = NULL;
  if (length > 0 && (size_t)length < sizeof loader) TVMFFIFunctionGetGlobal(&loader_name, &function);
  if (function == NULL)
    return tn__raise("RuntimeError", "Loader for `.%.*s` files is not registered, resolved to (%s) in the global registry.",
                     (int)format.size, format.data, loader);
  TVMFFIAny arguments[2] = {args[0], tn__none()};
  int status = tn__text(format.data, format.size, &arguments[1]);
  if (status == 0) status = TVMFFIFunctionCall(function, arguments, 2, result);
  tn__clear(&arguments[1]);
  tn__release(function);
  return status;
}

/* ffi.SystemLib([prefix]): always the same module for a prefix */
static int system_module(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  (void)self;
  static tn__names_t modules;
  TVMFFIByteArray prefix = {"", 0};
  if (num_args > 1) return tn__expect_count("ffi.SystemLib", 1, num_args);
  if (num_args == 1 && tn__argument_text("ffi.SystemLib", args, 0, &prefix) != 0) return -1;
  tn__lock(&lock);
  void **place = tn__names_find(&modules, prefix);
  if (place != NULL) *result = tn__object(*place);
  if (place != NULL) tn__retain(*place);
  tn__unlock(&lock);
  if (place != NULL) return 0;
  tn__library_t library = {NULL, tn__duplicate(prefix)};
  if (library.prefix == NULL) return tn__no_memory();
  if (tn__module_from_library(library, TN_SYMBOLS_PREFIXED, result) != 0) return -1;
  tn__lock(&lock);
  place = tn__names_add(&modules, prefix);
  if (place != NULL && *place == NULL) {
    *place = result->v_obj;
    tn__retain(result->v_obj);
  }
  tn__unlock(&lock);
  return 0;
}

__attribute__((constructor)) static void register_functions(void) {
  static const tn__builtin_t builtins[] = {
      {"ffi.Module.load_from_file.so", load_dynamic},
      {"runtime.module.loadfile_so", load_legacy},
      {"ffi.ModuleLoadFromFile", load_file},
      {"ffi.SystemLib", system_module},
  };
  tn__register_builtins(builtins, sizeof builtins / sizeof *builtins);
}
