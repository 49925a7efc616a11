/* A library with a module inside, as the compiler of TVM 0.21 (TVM_GENERATION 21), those of 0.22 to 0.25 (22), and those from
 * 0.26 on (26) make it. */
#include "embedded.h"

#include <string.h>

#include "tenon/tvm_ffi.h"

#if TVM_GENERATION == 21
#define LIBRARY_CONTEXT __tvm_ffi_library_ctx
#define LIBRARY_BIN __tvm_ffi_library_bin
#define ENTRY __tvm_main__
#define ADD_SETTING add_setting
#define LOOK_UP __TVMBackendGetFuncFromEnv
#define PREFIX "settings_21_"
#elif TVM_GENERATION == 22
#define LIBRARY_CONTEXT __tvm_ffi__library_ctx
#define LIBRARY_BIN __tvm_ffi__library_bin
#define ENTRY __tvm_ffi_main
#define ADD_SETTING __tvm_ffi_add_setting
#define LOOK_UP __TVMBackendGetFuncFromEnv
#define PREFIX "settings_22_"
#else
#define LIBRARY_CONTEXT __tvm_ffi__library_ctx
#define LIBRARY_BIN __tvm_ffi__library_bin
#define ENTRY __tvm_ffi_main
#define ADD_SETTING __tvm_ffi_add_setting
#define LOOK_UP __TVMFFIEnvModLookupFromImports
#define PREFIX "settings_26_"
#endif

typedef PACKED_STRUCT {
  TREE;
  SIZED_TEXT(library, "_lib");
  SIZED_TEXT(kind, "settings");
  uint64_t byte_size;
  int64_t number;
}
content_t;

typedef PACKED_STRUCT {
  uint64_t byte_size;
  content_t content;
}
library_bin_t;

TVM_FFI_EXPORT const library_bin_t LIBRARY_BIN = {
    sizeof(content_t),
    {TREE_VALUE, {4, {'_', 'l', 'i', 'b'}}, {8, {'s', 'e', 't', 't', 'i', 'n', 'g', 's'}}, sizeof(int64_t), 40},
};

TVM_FFI_EXPORT void *LIBRARY_CONTEXT;
TVM_FFI_EXPORT int (*LOOK_UP)(void *, const char *, void **);

/* The number of the module inside, plus the argument. */
TVM_FFI_EXPORT int ADD_SETTING(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  (void)self;
  void *number;
  if (LOOK_UP(LIBRARY_CONTEXT, "number", &number) != 0) return -1;
  if (TVMFFIFunctionCall(number, NULL, 0, result) != 0) return -1;
  if (num_args == 1 && args[0].type_index == kTVMFFIInt) result->v_int64 += args[0].v_int64;
  return 0;
}

/* The entry. */
TVM_FFI_EXPORT int ENTRY(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  return ADD_SETTING(self, args, num_args, result);
}

/* --- the runtime of `settings` -------------------------------------------------------------------------------------------- */

static int64_t loaded;

static int give_number(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  (void)self, (void)args, (void)num_args;
  *result = (TVMFFIAny){.type_index = kTVMFFIInt, .v_int64 = loaded};
  return 0;
}

/* The bytes of an argument, in any of their three forms, if there are `size`. */
static int read_bytes(const TVMFFIAny *argument, void *out, size_t size) {
  TVMFFIByteArray bytes = {argument->v_bytes, argument->small_str_len};
  if (argument->type_index == kTVMFFIByteArrayPtr) bytes = *(const TVMFFIByteArray *)argument->v_ptr;
  if (argument->type_index == kTVMFFIBytes) bytes = *(const TVMFFIByteArray *)(const void *)(argument->v_obj + 1);
  if (bytes.size != size) return -1;
  memcpy(out, bytes.data, size);
  return 0;
}

/* Makes the module: of symbols that the program registers. */
static int load_settings(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  static const TVMFFIByteArray name = {"ffi.SystemLib", 13};
  (void)self;
  if (num_args != 1 || read_bytes(&args[0], &loaded, sizeof loaded) != 0) {
    TVMFFIErrorSetRaisedFromCStr("ValueError", "settings are eight bytes");
    return -1;
  }
  if (TVMFFIEnvModRegisterSystemLibSymbol("__tvm_ffi_" PREFIX "number", (void *)(uintptr_t)give_number) != 0) return -1;
  TVMFFIObjectHandle make;
  if (TVMFFIFunctionGetGlobal(&name, &make) != 0) return -1;
  TVMFFIAny prefix = {.type_index = kTVMFFIRawStr, .v_c_str = PREFIX};
  int status = TVMFFIFunctionCall(make, &prefix, 1, result);
  TVMFFIObjectDecRef(make);
  return status;
}

__attribute__((constructor)) static void register_loader(void) {
  static const TVMFFIByteArray name = {"ffi.Module.load_from_bytes.settings", 35};
  TVMFFIObjectHandle function;
  if (TVMFFIFunctionCreate(NULL, load_settings, NULL, &function) != 0) return;
  TVMFFIFunctionSetGlobal(&name, function, 1);
  TVMFFIObjectDecRef(function);
}
