/* Modules: named functions of a library, and imports. */
#include <stdlib.h>

#include "../../base/lock.h"
#include "../legacy/runtime.h"
#include "module.h"

/* Guards imports and looked-up functions of all modules. */
static tn__lock_t lock = TN__LOCK;

static void module_destroy(tn__module_t *self) {
  for (size_t i = 0; i < self->import_count; i++) tn__release(self->imports[i]);
  for (size_t i = 0; i < self->found.used; i++) {
    tn__release(self->found.entries[i].value);
    free(self->found.entries[i].key);
  }
  free(self->found.entries);
  free(self->found.slots);
  free(self->imports);
  free(self->library.prefix);
}
TN_DELETER(module_deleter, module_destroy)

tn__module_t *tn__module_new(tn__library_t library, tn__generation_t generation) {
  tn__module_t *module = tn__object_new(sizeof *module, kTVMFFIModule, module_deleter);
  if (module == NULL) return NULL;
  module->library = library;
  module->generation = generation;
  return module;
}

tn__module_t *tn__module_of(void *handle) {
  TVMFFIObject *object = handle;
  return object->type_index == kTVMFFIModule && object->deleter == module_deleter ? handle : NULL;
}

static int foreign_module(void) {
  return tn__raise("RuntimeError", "a module that C++ code made can't be asked by this library");
}

static bool reaches(const tn__module_t *from, const tn__module_t *target) {
  if (from == target) return true;
  for (size_t i = 0; i < from->import_count; i++) {
    const tn__module_t *next = tn__module_of(from->imports[i]);
    if (next != NULL && reaches(next, target)) return true;
  }
  return false;
}

int tn__module_import(tn__module_t *module, void *imported) {
  const tn__module_t *other = tn__module_of(imported);
  if (other == NULL) return foreign_module();
  tn__lock(&lock);
  bool is_cycle = reaches(other, module);
  void **imports = NULL;
  if (!is_cycle) imports = realloc(module->imports, (module->import_count + 1) * sizeof *imports);
  if (imports != NULL) {
    tn__retain(imported);
    imports[module->import_count++] = imported;
    module->imports = imports;
  }
  tn__unlock(&lock);
  if (is_cycle) return tn__raise("RuntimeError", "Cyclic dependency detected during import");
  return imports == NULL ? tn__no_memory() : 0;
}

/* --- functions ---------------------------------------------------------------------------------------------------------- */

typedef struct {
  void *module; /* one reference: a function keeps its module */
  TVMFFISafeCallType call;
} entry_t;

static int call_entry(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  return ((const entry_t *)self)->call(NULL, args, num_args, result);
}

/* Set once libtvm_runtime is there: it speaks the convention before tvm-ffi. */
static tn_tvm_legacy_caller_t call_legacy;

TVM_FFI_EXPORT void tn_tvm_set_legacy_caller(tn_tvm_legacy_caller_t caller) {
  __atomic_store_n(&call_legacy, caller, __ATOMIC_RELEASE);
}

static int call_legacy_entry(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  const entry_t *entry = self;
  tn_tvm_legacy_caller_t caller = __atomic_load_n(&call_legacy, __ATOMIC_ACQUIRE);
  if (caller == NULL) return tn__raise("RuntimeError", "kernels of TVM to 0.20 need libtvm_runtime, which is not loaded");
  return caller((void *)(uintptr_t)entry->call, NULL, args, num_args, result);
}

static void free_entry(void *self) {
  tn__release(((entry_t *)self)->module);
  free(self);
}

/* The symbol `prefix + name`, or null. */
static void *symbol_of(const tn__module_t *module, const char *prefix, const char *name) {
  size_t prefix_size = strlen(prefix), name_size = strlen(name);
  char *symbol = malloc(prefix_size + name_size + 1);
  if (symbol == NULL) return NULL;
  memcpy(symbol, prefix, prefix_size);
  memcpy(symbol + prefix_size, name, name_size + 1);
  void *address = tn__library_symbol(&module->library, symbol);
  free(symbol);
  return address;
}

static void *function_symbol(const tn__module_t *module, const char *name) {
  if (module->generation == TN_SYMBOLS_PREFIXED) return symbol_of(module, "__tvm_ffi_", name);
  /* To TVM 0.21 the entry function was __tvm_main__: itself, or text with its name. */
  bool is_entry = strcmp(name, "main") == 0 || strcmp(name, "__tvm_main__") == 0;
  void *address = symbol_of(module, "", is_entry ? "__tvm_main__" : name);
  if (is_entry && address != NULL && !tn__is_function(address)) return symbol_of(module, "", address);
  return address == NULL || tn__is_function(address) ? address : NULL;
}

static int own_function(tn__module_t *module, const char *name, void **out) {
  *out = NULL;
  void *address = function_symbol(module, name);
  if (address == NULL) return 0;
  entry_t *entry = malloc(sizeof *entry);
  if (entry == NULL) return tn__no_memory();
  *entry = (entry_t){module, (TVMFFISafeCallType)(uintptr_t)address};
  tn__retain(module);
  TVMFFISafeCallType call = module->generation == TN_SYMBOLS_LEGACY ? call_legacy_entry : call_entry;
  int status = TVMFFIFunctionCreate(entry, call, free_entry, out);
  if (status != 0) free_entry(entry);
  return status;
}

/* An import with a reference for the caller, or null after the last. */
static tn__module_t *import_at(tn__module_t *module, size_t index) {
  tn__lock(&lock);
  tn__module_t *imported = index < module->import_count ? tn__module_of(module->imports[index]) : NULL;
  if (imported != NULL) tn__retain(imported);
  tn__unlock(&lock);
  return imported;
}

/* A function of what a module imports: as tn__module_function. */
static int imported_function(tn__module_t *module, const char *name, void **out) {
  tn__module_t *imported;
  int status = 0;
  *out = NULL;
  for (size_t i = 0; status == 0 && *out == NULL && (imported = import_at(module, i)) != NULL; i++) {
    status = tn__module_function(imported, name, true, out);
    tn__release(imported);
  }
  return status;
}

int tn__module_function(tn__module_t *module, const char *name, bool imports, void **out) {
  if (own_function(module, name, out) != 0) return -1;
  return imports && *out == NULL ? imported_function(module, name, out) : 0;
}

/* --- what kernels ask ---------------------------------------------------------------------------------------------------- */

int TVMFFIEnvModLookupFromImports(TVMFFIObjectHandle library_ctx, const char *func_name, TVMFFIObjectHandle *out) {
  tn__module_t *module = library_ctx == NULL ? NULL : tn__module_of(library_ctx);
  if (library_ctx != NULL && module == NULL) return foreign_module();
  if (module == NULL) return tn__raise("InternalError", "the library was not loaded as a module: it has no context");
  TVMFFIByteArray name = {func_name, strlen(func_name)};
  tn__lock(&lock);
  void **place = tn__names_find(&module->found, name);
  void *function = place == NULL ? NULL : *place;
  tn__unlock(&lock);
  if (function == NULL) {
    if (imported_function(module, func_name, &function) != 0) return -1;
    if (function == NULL) TVMFFIFunctionGetGlobal(&name, &function);
    if (function == NULL)
      return tn__raise("ValueError", "Cannot find function %s in the imported modules or global registry.", func_name);
    void *unused = function;
    tn__lock(&lock);
    place = tn__names_add(&module->found, name);
    if (place != NULL && *place == NULL) {
      *place = function;
      unused = NULL;
    } else if (place != NULL) {
      function = *place; /* another thread was faster */
    }
    tn__unlock(&lock);
    tn__release(unused);
    if (place == NULL) return tn__no_memory();
  }
  *out = function;
  return 0;
}

/* --- global functions over modules ------------------------------------------------------------------------------------------ */

/* The arguments (module, name, query_imports): the name is copied and freed by the caller. */
static int read_query(const char *function, const TVMFFIAny *args, int32_t num_args, tn__module_t **module, char **name,
                      bool *imports) {
  void *handle;
  TVMFFIByteArray text;
  int64_t query;
  if (tn__expect_count(function, 3, num_args) != 0) return -1;
  if (tn__argument_object(function, args, 0, kTVMFFIModule, &handle) != 0) return -1;
  if (tn__argument_text(function, args, 1, &text) != 0 || tn__argument_int(function, args, 2, &query) != 0) return -1;
  *module = tn__module_of(handle);
  if (*module == NULL) return foreign_module();
  *name = tn__duplicate(text);
  *imports = query != 0;
  return *name == NULL ? tn__no_memory() : 0;
}

static int get_function(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  (void)self;
  tn__module_t *module;
  char *name;
  bool imports;
  void *function;
  if (read_query("ffi.ModuleGetFunction", args, num_args, &module, &name, &imports) != 0) return -1;
  int status = tn__module_function(module, name, imports, &function);
  free(name);
  if (status == 0) *result = tn__object(function);
  return status;
}

static int implements_function(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  (void)self;
  tn__module_t *module;
  char *name;
  bool imports;
  void *function;
  if (read_query("ffi.ModuleImplementsFunction", args, num_args, &module, &name, &imports) != 0) return -1;
  int status = tn__module_function(module, name, imports, &function);
  free(name);
  if (status != 0) return -1;
  *result = tn__bool(function != NULL);
  tn__release(function);
  return 0;
}

/* A text that the library offers through a getter, of the module or its imports; None if there is none. */
static int ask_text(tn__module_t *module, const char *prefix, const char *name, bool imports, TVMFFIAny *result) {
  void *address = module->generation == TN_SYMBOLS_PREFIXED ? symbol_of(module, prefix, name) : NULL;
  if (address != NULL) return ((TVMFFISafeCallType)(uintptr_t)address)(NULL, NULL, 0, result);
  tn__module_t *imported;
  int status = 0;
  for (size_t i = 0; imports && status == 0 && result->type_index == kTVMFFINone; i++) {
    if ((imported = import_at(module, i)) == NULL) break;
    status = ask_text(imported, prefix, name, true, result);
    tn__release(imported);
  }
  return status;
}

static int get_text(const char *function, const char *prefix, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  tn__module_t *module;
  char *name;
  bool imports;
  if (read_query(function, args, num_args, &module, &name, &imports) != 0) return -1;
  int status = ask_text(module, prefix, name, imports, result);
  free(name);
  return status;
}

static int get_metadata(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  (void)self;
  return get_text("ffi.ModuleGetFunctionMetadata", "__tvm_ffi__metadata_", args, num_args, result);
}

static int get_doc(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  (void)self;
  return get_text("ffi.ModuleGetFunctionDoc", "__tvm_ffi__doc_", args, num_args, result);
}

static int read_module(const char *function, const TVMFFIAny *args, int32_t index, tn__module_t **module) {
  void *handle;
  if (tn__argument_object(function, args, index, kTVMFFIModule, &handle) != 0) return -1;
  *module = tn__module_of(handle);
  return *module == NULL ? foreign_module() : 0;
}

static int get_kind(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  (void)self;
  tn__module_t *module;
  if (tn__expect_count("ffi.ModuleGetKind", 1, num_args) != 0) return -1;
  if (read_module("ffi.ModuleGetKind", args, 0, &module) != 0) return -1;
  return tn__text("library", 7, result);
}

static int import_module(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  (void)self;
  (void)result;
  tn__module_t *module, *other;
  if (tn__expect_count("ffi.ModuleImportModule", 2, num_args) != 0) return -1;
  if (read_module("ffi.ModuleImportModule", args, 0, &module) != 0) return -1;
  if (read_module("ffi.ModuleImportModule", args, 1, &other) != 0) return -1;
  return tn__module_import(module, other);
}

static int clear_imports(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  (void)self;
  (void)result;
  tn__module_t *module;
  if (tn__expect_count("ffi.ModuleClearImports", 1, num_args) != 0) return -1;
  if (read_module("ffi.ModuleClearImports", args, 0, &module) != 0) return -1;
  tn__lock(&lock);
  void **imports = module->imports;
  size_t count = module->import_count;
  module->imports = NULL;
  module->import_count = 0;
  tn__unlock(&lock);
  for (size_t i = 0; i < count; i++) tn__release(imports[i]);
  free(imports);
  return 0;
}

/* What can be done with the module of a library: it runs, and is not written anywhere. */
#define RUNNABLE 2

static int get_properties(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  (void)self;
  tn__module_t *module;
  if (tn__expect_count("ffi.ModuleGetPropertyMask", 1, num_args) != 0) return -1;
  if (read_module("ffi.ModuleGetPropertyMask", args, 0, &module) != 0) return -1;
  *result = tn__int(RUNNABLE);
  return 0;
}

/* --- modules that the process keeps ------------------------------------------------------------------------------------------- */

static void **kept;
static size_t kept_count;

static int keep_module(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  (void)self;
  (void)result;
  tn__module_t *module;
  if (tn__expect_count("ffi.ModuleGlobalsAdd", 1, num_args) != 0) return -1;
  if (read_module("ffi.ModuleGlobalsAdd", args, 0, &module) != 0) return -1;
  tn__lock(&lock);
  bool known = false;
  for (size_t i = 0; i < kept_count; i++) known = known || kept[i] == (void *)module;
  void **grown = known ? kept : realloc(kept, (kept_count + 1) * sizeof *kept);
  if (grown != NULL && !known) {
    tn__retain(module);
    kept = grown;
    kept[kept_count++] = module;
  }
  tn__unlock(&lock);
  return grown == NULL ? tn__no_memory() : 0;
}

static int drop_module(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  (void)self;
  (void)result;
  tn__module_t *module, *dropped = NULL;
  if (tn__expect_count("ffi.ModuleGlobalsRemove", 1, num_args) != 0) return -1;
  if (read_module("ffi.ModuleGlobalsRemove", args, 0, &module) != 0) return -1;
  tn__lock(&lock);
  for (size_t i = 0; i < kept_count; i++) {
    if (kept[i] != (void *)module) continue;
    dropped = module;
    kept[i] = kept[--kept_count];
    break;
  }
  tn__unlock(&lock);
  tn__release(dropped);
  return 0;
}

__attribute__((constructor)) static void register_functions(void) {
  static const tn__builtin_t builtins[] = {
      {"ffi.ModuleGetFunction", get_function},         {"ffi.ModuleImplementsFunction", implements_function},
      {"ffi.ModuleGetFunctionMetadata", get_metadata}, {"ffi.ModuleGetFunctionDoc", get_doc},
      {"ffi.ModuleGetKind", get_kind},                 {"ffi.ModuleImportModule", import_module},
      {"ffi.ModuleGlobalsAdd", keep_module},           {"ffi.ModuleGlobalsRemove", drop_module},
      {"ffi.ModuleClearImports", clear_imports},       {"ffi.ModuleGetPropertyMask", get_properties},
  };
  tn__register_builtins(builtins, sizeof builtins / sizeof *builtins);
}
