/* A library with a module inside, as the compilers of TVM to 0.20 generate it. */
#include "embedded.h"
#include "legacy.h"

typedef PACKED_STRUCT {
  uint64_t entry_count;
  SIZED_TEXT(library, "_lib");
  SIZED_TEXT(kind, "settings");
  int64_t number;
  SIZED_TEXT(tree_key, "_import_tree");
  TREE;
}
content_t;

typedef PACKED_STRUCT {
  uint64_t byte_size;
  content_t content;
}
module_blob_t;

TVM_RUNTIME_EXPORT const module_blob_t __tvm_dev_mblob = {
    sizeof(content_t),
    {3,
     {4, {'_', 'l', 'i', 'b'}},
     {8, {'s', 'e', 't', 't', 'i', 'n', 'g', 's'}},
     40,
     {12, {'_', 'i', 'm', 'p', 'o', 'r', 't', '_', 't', 'r', 'e', 'e'}},
     TREE_VALUE},
};

TVM_RUNTIME_EXPORT void *__tvm_module_ctx;
TVM_RUNTIME_EXPORT const char __tvm_main__[] = "add_setting";
TVM_RUNTIME_EXPORT int (*__TVMBackendGetFuncFromEnv)(void *, const char *, void **);

/* Returns the number of the module inside, plus the argument. */
PACKED(add_setting) {
  void *number;
  if (__TVMBackendGetFuncFromEnv(__tvm_module_ctx, "number", &number) != 0) return -1;
  if (TVMFuncCall(number, NULL, NULL, 0, ret, ret_code) != 0) return -1;
  if (num_args == 1 && codes[0] == kTVMArgInt) ret->v_int64 += args[0].v_int64;
  return 0;
}

/* --- The loader of modules of the kind `settings` ----------------------------------------------------------------- */

static int64_t loaded;

static int give_number(PARAMETERS) { return give_int(ret, ret_code, loaded); }

/* Reads the number from the stream. Returns the module, which consists of symbols that this library registers. */
static int load_settings(TVMValue *args, int *codes, int num_args, TVMRetValueHandle ret, UNUSED void *resource) {
  static void *context;
  TVMFunctionHandle make;
  TVMValue prefix = {.v_str = "settings_20_"}, module;
  int code = kTVMStr;
  if (num_args != 1 || codes[0] != kTVMOpaqueHandle) return fail("TypeError: settings must come from a stream");
  TVMStream *stream = args[0].v_handle;
  if (stream->functions->read(stream, &loaded, sizeof loaded) != sizeof loaded)
    return fail("ValueError: settings must be eight bytes");
  if (TVMBackendRegisterSystemLibSymbol("settings_20_number", (void *)(uintptr_t)give_number) != 0) return -1;
  if (TVMBackendRegisterSystemLibSymbol("settings_20___tvm_module_ctx", &context) != 0) return -1;
  if (TVMFuncGetGlobal("runtime.SystemLib", &make) != 0) return -1;
  int status = TVMFuncCall(make, &prefix, &code, 1, &module, &code);
  TVMFuncFree(make);
  if (status != 0) return -1;
  status = TVMCFuncSetReturn(ret, &module, &code, 1);
  TVMModFree(module.v_handle);
  return status;
}

__attribute__((constructor)) static void register_loader(void) {
  TVMFunctionHandle function;
  if (TVMFuncCreateFromCFunc(load_settings, NULL, NULL, &function) != 0) return;
  TVMFuncRegisterGlobal("runtime.module.loadbinary_settings", function, 1);
  TVMFuncFree(function);
}
