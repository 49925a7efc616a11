/* A library with a module inside, as the compilers of tvm-ffi generate it. */
#include "embedded.h"

#include <string.h>

#include "generation.h"

#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)
#define PREFIX "settings_" TEXT(TVM_GENERATION) "_"

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

/* Returns the number of the module inside, plus the argument. */
PACKED(SYMBOL(add_setting)) {
  void *number;
  if (LOOK_UP(LIBRARY_CONTEXT, "number", &number) != 0) return -1;
  if (TVMFFIFunctionCall(number, NULL, 0, result) != 0) return -1;
  if (num_args == 1 && args[0].type_index == kTVMFFIInt) result->v_int64 += args[0].v_int64;
  return 0;
}

PACKED(ENTRY) { return SYMBOL(add_setting)(self, args, num_args, result); }

/* --- The loader of modules of the kind `settings` ----------------------------------------------------------------- */

static int64_t loaded;

static int give_number(PARAMETERS) { return give_int(result, loaded); }

/* Copies `size` bytes of an argument, which is bytes in any of their forms. Fails if it has another size. */
static int read_bytes(const TVMFFIAny *argument, void *out, size_t size) {
  TVMFFIByteArray bytes = {argument->v_bytes, argument->small_str_len};
  if (argument->type_index == kTVMFFIByteArrayPtr) bytes = *(const TVMFFIByteArray *)argument->v_ptr;
  if (argument->type_index == kTVMFFIBytes) bytes = *TVMFFIBytesGetByteArrayPtr(argument->v_obj);
  if (bytes.size != size) return -1;
  memcpy(out, bytes.data, size);
  return 0;
}

/* Returns the module, which consists of symbols that this library registers. */
static int load_settings(PARAMETERS) {
  static const TVMFFIByteArray name = {"ffi.SystemLib", 13};
  if (num_args != 1 || read_bytes(&args[0], &loaded, sizeof loaded) != 0)
    return fail("ValueError", "settings must be eight bytes");
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
