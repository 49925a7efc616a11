/* Modules: the named functions of a library, and imported modules. */
#include <stdlib.h>

#include "base/lock.h"
#include "legacy.h"
#include "module.h"
#include "object.h"

/* Guards the imports and the looked-up functions of all modules. */
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
  return tn__raise("RuntimeError", "the module was created by C++ code, and this library cannot use it");
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

typedef struct {
  void *module; /* retained: a function keeps its module */
  TVMFFISafeCallType call;
} entry_t;

static int call_entry(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  return ((const entry_t *)self)->call(NULL, args, num_args, result);
}

/* Set by libtvm_runtime, which implements the convention before tvm-ffi. */
static tn_tvm_legacy_caller_t call_legacy;

void tn_tvm_set_legacy_caller(tn_tvm_legacy_caller_t caller) {
  __atomic_store_n(&call_legacy, caller, __ATOMIC_RELEASE);
}

static int call_legacy_entry(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  const entry_t *entry = self;
  tn_tvm_legacy_caller_t caller = __atomic_load_n(&call_legacy, __ATOMIC_ACQUIRE);
  if (caller == NULL)
    return tn__raise("RuntimeError", "kernels of TVM to 0.20 need libtvm_runtime, which is not loaded");
  return caller((void *)(uintptr_t)entry->call, args, num_args, result);
}

static void free_entry(void *self) {
  tn__release(((entry_t *)self)->module);
  free(self);
}

/* Looks up a function by the parts of its name. */
static void *prefixed_function(const tn__module_t *module, const char *prefix, const char *name) {
  char *symbol = tn__join("", prefix, name);
  if (symbol == NULL) return NULL;
  void *address = tn__library_function(&module->library, symbol);
  free(symbol);
  return address;
}

static void *function_symbol(const tn__module_t *module, const char *name) {
  const bool is_prefixed = module->generation == TN_SYMBOLS_PREFIXED;
  const bool is_entry = !is_prefixed && (strcmp(name, "main") == 0 || strcmp(name, "__tvm_main__") == 0);
  if (!is_entry) return prefixed_function(module, is_prefixed ? "__tvm_ffi_" : "", name);
  /* To TVM 0.21 the symbol __tvm_main__ is the entry function, or a string with its name. */
  const void *entry = tn__library_symbol(&module->library, "__tvm_main__");
  const bool is_name = entry != NULL && tn_address_is_data(entry) != 0;
  return tn__library_function(&module->library, is_name ? entry : "__tvm_main__");
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

/* The import at an index, retained for the caller, or null after the last. */
static tn__module_t *import_at(tn__module_t *module, size_t index) {
  tn__lock(&lock);
  tn__module_t *imported = index < module->import_count ? tn__module_of(module->imports[index]) : NULL;
  if (imported != NULL) tn__retain(imported);
  tn__unlock(&lock);
  return imported;
}

static int find_function(tn__module_t *module, const char *name, bool imports, void **out);

/* Looks up a function in the imports of a module: 0 with the function, retained, or null if there is none. */
static int imported_function(tn__module_t *module, const char *name, void **out) {
  tn__module_t *imported;
  int status = 0;
  *out = NULL;
  for (size_t i = 0; status == 0 && *out == NULL && (imported = import_at(module, i)) != NULL; i++) {
    status = find_function(imported, name, true, out);
    tn__release(imported);
  }
  return status;
}

static int find_function(tn__module_t *module, const char *name, bool imports, void **out) {
  if (own_function(module, name, out) != 0) return -1;
  return imports && *out == NULL ? imported_function(module, name, out) : 0;
}

int TVMFFIEnvModLookupFromImports(TVMFFIObjectHandle library_ctx, const char *func_name, TVMFFIObjectHandle *out) {
  tn__module_t *module = library_ctx == NULL ? NULL : tn__module_of(library_ctx);
  if (library_ctx != NULL && module == NULL) return foreign_module();
  if (module == NULL) return tn__raise("InternalError", "the library was not loaded as a module, so it has no context");
  const TVMFFIByteArray name = tn__span(func_name);
  tn__lock(&lock);
  void *function = tn__names_get(&module->found, name);
  tn__unlock(&lock);
  if (function == NULL) {
    if (imported_function(module, func_name, &function) != 0) return -1;
    if (function == NULL) TVMFFIFunctionGetGlobal(&name, &function);
    if (function == NULL)
      return tn__raise("ValueError", "Cannot find function %s in the imported modules or global registry.", func_name);
    void *unused = function;
    tn__lock(&lock);
    void **place = tn__names_add(&module->found, name);
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

/* The argument at an index that is known to be a module, or null with an error raised if C++ code created it. */
static tn__module_t *module_at(const tn__call_t *call, int32_t index) {
  tn__module_t *module = tn__module_of(call->args[index].v_obj);
  if (module == NULL) foreign_module();
  return module;
}

typedef struct {
  tn__module_t *module;
  char *name; /* freed by the caller */
  bool imports;
} query_t;

static int read_query(const tn__call_t *call, query_t *query) {
  TVMFFIByteArray text;
  int64_t imports;
  if (tn__argument_text(call, 1, &text) != 0 || tn__argument_int(call, 2, &imports) != 0) return -1;
  *query = (query_t){module_at(call, 0), NULL, imports != 0};
  if (query->module == NULL) return -1;
  query->name = tn__duplicate(text);
  return query->name == NULL ? tn__no_memory() : 0;
}

static int get_function(const tn__call_t *call) {
  query_t query;
  void *function = NULL;
  if (read_query(call, &query) != 0) return -1;
  int status = find_function(query.module, query.name, query.imports, &function);
  free(query.name);
  *call->result = tn__object(function);
  return status;
}

static int implements_function(const tn__call_t *call) {
  if (get_function(call) != 0) return -1;
  const bool is_found = call->result->type_index != kTVMFFINone;
  tn__clear(call->result);
  return tn__give(call, tn__bool(is_found));
}

/* Calls the getter `prefix + name` of the module or of one of its imports. The result stays None if there is none. */
static int ask_text(tn__module_t *module, const char *prefix, const char *name, bool imports, TVMFFIAny *result) {
  void *address = module->generation == TN_SYMBOLS_PREFIXED ? prefixed_function(module, prefix, name) : NULL;
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

static int get_text(const tn__call_t *call, const char *prefix) {
  query_t query;
  if (read_query(call, &query) != 0) return -1;
  int status = ask_text(query.module, prefix, query.name, query.imports, call->result);
  free(query.name);
  return status;
}

static int get_metadata(const tn__call_t *call) { return get_text(call, "__tvm_ffi__metadata_"); }

static int get_doc(const tn__call_t *call) { return get_text(call, "__tvm_ffi__doc_"); }

static int get_kind(const tn__call_t *call) {
  return module_at(call, 0) == NULL ? -1 : tn__text("library", 7, call->result);
}

/* The property that the module of a library has: it can run, but not be exported. */
#define RUNNABLE 2

static int get_properties(const tn__call_t *call) {
  return module_at(call, 0) == NULL ? -1 : tn__give(call, tn__int(RUNNABLE));
}

static int get_write_formats(const tn__call_t *call) {
  return module_at(call, 0) == NULL ? -1 : tn__sequence_make(kTVMFFIArray, NULL, 0, call->result);
}

/* ffi.ModuleInspectSource(module, format): the source of a library is not known */
static int get_source(const tn__call_t *call) {
  TVMFFIByteArray format;
  if (module_at(call, 0) == NULL || tn__argument_text(call, 1, &format) != 0) return -1;
  return tn__text("", 0, call->result);
}

static int write_file(const tn__call_t *call) {
  TVMFFIByteArray file, format;
  if (module_at(call, 0) == NULL || tn__argument_text(call, 1, &file) != 0 || tn__argument_text(call, 2, &format) != 0)
    return -1;
  return tn__raise("RuntimeError", "Module[library] does not support WriteToFile");
}

static int import_module(const tn__call_t *call) {
  if (call->args[1].type_index != kTVMFFIModule)
    return tn__argument_mismatch(call, 1, tn__type_name(kTVMFFIModule));
  tn__module_t *module = module_at(call, 0), *other = module == NULL ? NULL : module_at(call, 1);
  return other == NULL ? -1 : tn__module_import(module, other);
}

static int clear_imports(const tn__call_t *call) {
  tn__module_t *module = module_at(call, 0);
  if (module == NULL) return -1;
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

static void **kept;
static size_t kept_count;

/* The index of a retained module, or the number of them. Under the lock. */
static size_t kept_index(const void *module) {
  size_t i = 0;
  while (i < kept_count && kept[i] != module) i++;
  return i;
}

static int keep_module(const tn__call_t *call) {
  void *module = module_at(call, 0);
  if (module == NULL) return -1;
  tn__lock(&lock);
  bool is_new = kept_index(module) == kept_count;
  void **grown = is_new ? realloc(kept, (kept_count + 1) * sizeof *kept) : kept;
  if (grown != NULL && is_new) {
    tn__retain(module);
    kept = grown;
    kept[kept_count++] = module;
  }
  tn__unlock(&lock);
  return grown == NULL ? tn__no_memory() : 0;
}

static int drop_module(const tn__call_t *call) {
  void *module = module_at(call, 0);
  if (module == NULL) return -1;
  tn__lock(&lock);
  size_t index = kept_index(module);
  bool is_kept = index < kept_count;
  if (is_kept) kept[index] = kept[--kept_count];
  tn__unlock(&lock);
  if (is_kept) tn__release(module);
  return 0;
}

/* The getter of the field `imports_`: an Array of the imports. */
static int get_imports(void *field, TVMFFIAny *result) {
  const tn__module_t *module = (tn__module_t *)(void *)((char *)field - offsetof(tn__module_t, imports));
  tn__lock(&lock);
  const size_t count = module->import_count;
  TVMFFIAny *items = malloc((count + 1) * sizeof *items);
  for (size_t i = 0; items != NULL && i < count; i++) {
    tn__retain(module->imports[i]);
    items[i] = tn__object(module->imports[i]);
  }
  tn__unlock(&lock);
  if (items == NULL) return tn__no_memory();
  const int status = tn__sequence_make(kTVMFFIArray, items, (int32_t)count, result);
  for (size_t i = 0; i < count; i++) tn__clear(&items[i]);
  free(items);
  return status;
}

void tn__register_module_fields(void) {
  const TVMFFIFieldInfo field = {
      .name = TN_SPAN("imports_"),
      .metadata = TN_SPAN("{\"type_schema\":\"{\\\"type\\\":\\\"ffi.Array\\\",\\\"args\\\":[{\\\"type\\\":\\\"Any\\\"}]}\"}"),
      .size = sizeof(void *),
      .alignment = _Alignof(void *),
      .offset = offsetof(tn__module_t, imports),
      .getter = get_imports,
      .field_static_type_index = kTVMFFIArray,
  };
  TVMFFITypeRegisterField(kTVMFFIModule, &field);
}

const tn__builtin_t tn__module_builtins[] = {
    {"ffi.ModuleGetFunction", get_function, 3, kTVMFFIModule},
    {"ffi.ModuleImplementsFunction", implements_function, 3, kTVMFFIModule},
    {"ffi.ModuleGetFunctionMetadata", get_metadata, 3, kTVMFFIModule},
    {"ffi.ModuleGetFunctionDoc", get_doc, 3, kTVMFFIModule},
    {"ffi.ModuleGetKind", get_kind, 1, kTVMFFIModule},
    {"ffi.ModuleGetPropertyMask", get_properties, 1, kTVMFFIModule},
    {"ffi.ModuleImportModule", import_module, 2, kTVMFFIModule},
    {"ffi.ModuleClearImports", clear_imports, 1, kTVMFFIModule},
    {"ffi.ModuleGetWriteFormats", get_write_formats, 1, kTVMFFIModule},
    {"ffi.ModuleInspectSource", get_source, 2, kTVMFFIModule},
    {"ffi.ModuleWriteToFile", write_file, 3, kTVMFFIModule},
    {"ffi.ModuleGlobalsAdd", keep_module, 1, kTVMFFIModule},
    {"ffi.ModuleGlobalsRemove", drop_module, 1, kTVMFFIModule},
    {.name = NULL},
};
