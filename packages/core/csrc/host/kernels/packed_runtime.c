#include "packed_runtime.h"

#include <stdio.h>
#include <string.h>

#include "siblings.h"
#include "tenon_host.h"

static char reason[1024];

const char *tn__packed_runtime_error(void) { return reason; }

static int32_t fail(int32_t status, const char *text) {
  snprintf(reason, sizeof reason, "%s", text);
  return status;
}

static int32_t open_sibling(const char *name, void **out) {
  char path[4096];
  if (!tn__sibling_path(name, path, sizeof path)) return fail(TN_NOT_FOUND, "the directory of the core is not known");
  const int32_t status = tn_library_open_globally(path, strlen(path), out);
  return status == TN_OK ? TN_OK : fail(status, tn_last_error());
}

static int32_t find(void *library, const char *name, void *place) {
  void *address = NULL;
  const int32_t status = tn_library_symbol(library, name, strlen(name), &address);
  if (status != TN_OK) return fail(status, name);
  memcpy(place, &address, sizeof address);
  return TN_OK;
}

/* The functions of libtenon_packed, which is not linked, because most workers do not need it. */
typedef struct {
  __typeof__(&tn_packed_loaded_library) loaded_library;
  __typeof__(&tn_packed_open_library) open_library;
  __typeof__(&tn_packed_library_error) library_error;
  __typeof__(&tn_packed_bind) bind;
  __typeof__(&tn_packed_install_allocator) install_allocator;
} packed_t;

static int32_t find_packed(packed_t *packed) {
  void *library = NULL;
  int32_t status = open_sibling("tenon_packed", &library);
  if (status == TN_OK) status = find(library, "tn_packed_loaded_library", &packed->loaded_library);
  if (status == TN_OK) status = find(library, "tn_packed_open_library", &packed->open_library);
  if (status == TN_OK) status = find(library, "tn_packed_library_error", &packed->library_error);
  if (status == TN_OK) status = find(library, "tn_packed_bind", &packed->bind);
  if (status == TN_OK) status = find(library, "tn_packed_install_allocator", &packed->install_allocator);
  return status;
}

static int is_cancelled(void) { return tn_host_is_cancelled(); }

static int32_t load(bool *is_own) {
  packed_t packed;
  int32_t status = find_packed(&packed);
  if (status != TN_OK) return status;
  /* A library that is loaded already goes first, because two libraries would have two registries. */
  void *ffi = packed.loaded_library();
  if (ffi == NULL) {
    char path[4096];
    if (!tn__sibling_path("tvm_ffi", path, sizeof path)) return fail(TN_NOT_FOUND, "the directory of the core is not known");
    status = packed.open_library(path, strlen(path), &ffi);
    if (status != TN_OK) return fail(status, packed.library_error());
  }
  void *legacy_caller;
  *is_own = tn_library_symbol(ffi, "tn_tvm_set_legacy_caller", 24, &legacy_caller) == TN_OK;
  status = packed.bind(ffi);
  if (status == TN_OK) status = tn__ffi_find(ffi);
  if (status != TN_OK) return fail(status, "the tvm-ffi library that is loaded does not export the functions of tvm-ffi 0.1");
  if (tn__ffi.TVMFFIEnvRegisterCAPI("PyErr_CheckSignals", (void *)(uintptr_t)is_cancelled) != 0 ||
      packed.install_allocator() != TN_OK)
    return fail(TN_UNSUPPORTED, "the tvm-ffi library that is loaded does not accept functions of this process");
  return TN_OK;
}

static int32_t load_legacy(void) {
  void *library = NULL;
  __typeof__(&tn_tvm_legacy_install) install;
  int32_t status = open_sibling("tvm_runtime", &library);
  if (status == TN_OK) status = find(library, "tn_tvm_legacy_install", &install);
  if (status != TN_OK) return status;
  return install() == 0 ? TN_OK : fail(TN_UNSUPPORTED, "libtvm_runtime could not be connected with libtvm_ffi");
}

int32_t tn__packed_runtime_load(bool is_legacy) {
  static bool is_loaded, is_own, has_legacy;
  if (!is_loaded) {
    const int32_t status = load(&is_own);
    if (status != TN_OK) return status;
    is_loaded = true;
  }
  if (!is_legacy || has_legacy) return TN_OK;
  if (!is_own) return fail(TN_UNSUPPORTED, "the tvm-ffi library that is loaded cannot call kernels of TVM to 0.20");
  const int32_t status = load_legacy();
  has_legacy = status == TN_OK;
  return status;
}

int tn__raise_error(const char *kind, const char *message) {
  tn__ffi.TVMFFIErrorSetRaisedFromCStr(kind, message);
  return -1;
}

int tn__call_global(tn__global_t which, TVMFFIAny *args, int32_t count, TVMFFIAny *result) {
  static const char *const names[TN__GLOBALS] = {
      "ffi.Array",        "ffi.Map",     "ffi.Shape",
      "ffi.ArraySize",    "ffi.ArrayGetItem", "ffi.ListSize", "ffi.ListGetItem",
      "ffi.MapSize",      "ffi.MapForwardIterFunctor", "ffi.DictSize", "ffi.DictForwardIterFunctor",
      "ffi.Module.load_from_file.so", "runtime.module.loadfile_so", "ffi.ModuleGetFunction",
  };
  const TVMFFIByteArray name = {names[which], strlen(names[which])};
  TVMFFIObjectHandle function = NULL;
  *result = (TVMFFIAny){.type_index = kTVMFFINone};
  if (tn__ffi.TVMFFIFunctionGetGlobal(&name, &function) != 0) return -1;
  if (function == NULL) return tn__raise_error("RuntimeError", "the tvm-ffi library lacks a function for containers or modules");
  const int status = tn__ffi.TVMFFIFunctionCall(function, args, count, result);
  tn__ffi.TVMFFIObjectDecRef(function);
  return status == 0 ? 0 : -1;
}
