/* Modules, and the connection of this library to libtvm_ffi. */
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "runtime.h"
#include "tenon_tvm.h"

static TVMFFIAny text_view(const char *text) { return (TVMFFIAny){.type_index = kTVMFFIRawStr, .v_c_str = text}; }
static TVMFFIAny module_view(void *module) { return (TVMFFIAny){.type_index = kTVMFFIModule, .v_obj = module}; }

int TVMModLoadFromFile(const char *file_name, const char *format, TVMModuleHandle *out) {
  TVMFFIAny args[2] = {text_view(file_name), text_view(format)};
  TVMFFIAny result;
  char loader[128];
  const int has_format = format[0] != '\0';
  snprintf(loader, sizeof loader, has_format ? "runtime.module.loadfile_%s" : "ffi.ModuleLoadFromFile%s", format);
  int status = tn__legacy_call_global(loader, args, has_format ? 2 : 1, &result);
  if (status == 0 && result.type_index != kTVMFFIModule) {
    tn__legacy_drop(&result);
    status = tn__legacy_raise("TypeError", "the loader of %s did not return a module", file_name);
  }
  if (status == 0) *out = result.v_obj;
  return tn__legacy_end(status);
}

int TVMModImport(TVMModuleHandle module, TVMModuleHandle dependency) {
  TVMFFIAny args[2] = {module_view(module), module_view(dependency)};
  TVMFFIAny result;
  return tn__legacy_end(tn__legacy_call_global("ffi.ModuleImportModule", args, 2, &result));
}

int TVMModGetFunction(TVMModuleHandle module, const char *name, int query_imports, TVMFunctionHandle *out) {
  TVMFFIAny args[3] = {module_view(module), text_view(name),
                       {.type_index = kTVMFFIBool, .v_int64 = query_imports != 0}};
  TVMFFIAny result;
  int status = tn__legacy_call_global("ffi.ModuleGetFunction", args, 3, &result);
  if (status == 0) *out = result.type_index == kTVMFFIFunction ? result.v_obj : NULL;
  return tn__legacy_end(status);
}

int TVMModFree(TVMModuleHandle module) { return TVMObjectFree(module); }

int TVMBackendRegisterSystemLibSymbol(const char *name, void *symbol) {
  return tn__legacy_end(TVMFFIEnvModRegisterSystemLibSymbol(name, symbol));
}

/* Registers a global function of tvm-ffi also under its name in this convention. */
static int rename_global(const char *name, const char *legacy_name) {
  TVMFFIByteArray span = {name, strlen(name)}, legacy_span = {legacy_name, strlen(legacy_name)};
  TVMFFIObjectHandle function = NULL;
  if (TVMFFIFunctionGetGlobal(&span, &function) != 0 || function == NULL) return -1;
  int status = TVMFFIFunctionSetGlobal(&legacy_span, function, 1);
  TVMFFIObjectDecRef(function);
  return status;
}

int32_t tn_tvm_legacy_install(void) {
  tn_tvm_set_legacy_caller(tn__legacy_call_kernel);
  int status = TVMFFIEnvModRegisterContextSymbol("__TVMFuncCall", (void *)(uintptr_t)TVMFuncCall);
  if (status == 0)
    status = TVMFFIEnvModRegisterContextSymbol("__TVMAPISetLastError", (void *)(uintptr_t)TVMAPISetLastError);
  if (status == 0) status = rename_global("ffi.ModuleLoadFromFile", "runtime.ModuleLoadFromFile");
  if (status == 0) status = rename_global("ffi.SystemLib", "runtime.SystemLib");
  return status;
}
