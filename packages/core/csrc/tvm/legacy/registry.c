/* Global functions, in the table of tvm-ffi. */
#include <stdlib.h>
#include <string.h>

#include "../host/thread_end.h"
#include "error.h"
#include "runtime.h"

int tn__legacy_call_global(const char *name, TVMFFIAny *args, int32_t count, TVMFFIAny *result) {
  TVMFFIByteArray span = {name, strlen(name)};
  TVMFFIObjectHandle function = NULL;
  *result = (TVMFFIAny){.type_index = kTVMFFINone};
  if (TVMFFIFunctionGetGlobal(&span, &function) != 0) return -1;
  if (function == NULL) return tn__legacy_raise("ValueError", "Function %s not found", name);
  int status = TVMFFIFunctionCall(function, args, count, result);
  TVMFFIObjectDecRef(function);
  return status;
}

int TVMFuncGetGlobal(const char *name, TVMFunctionHandle *out) {
  TVMFFIByteArray span = {name, strlen(name)};
  return tn__legacy_end(TVMFFIFunctionGetGlobal(&span, out));
}

int TVMFuncRegisterGlobal(const char *name, TVMFunctionHandle function, int override) {
  TVMFFIByteArray span = {name, strlen(name)};
  TVMFFIObjectHandle known = NULL;
  if (TVMFFIFunctionSetGlobal(&span, function, override) == 0) return 0;
  if (override || TVMFFIFunctionGetGlobal(&span, &known) != 0 || known == NULL) return tn__legacy_note_error();
  TVMFFIObjectDecRef(known);
  return tn__legacy_fail("InternalError", "Global PackedFunc %s is already registered", name);
}

int TVMFuncRemoveGlobal(const char *name) {
  TVMFFIAny argument = {.type_index = kTVMFFIRawStr, .v_c_str = name}, result;
  return tn__legacy_end(tn__legacy_call_global("ffi.FunctionRemoveGlobal", &argument, 1, &result));
}

/* --- the list of names, which the thread keeps until its next call ------------------------------------------------ */

static _Thread_local char **listing; /* up to a null */

static void free_listing(void *value) {
  for (char **name = value; name != NULL && *name != NULL; name++) free(*name);
  free(value);
}

static tn__thread_end_t thread_end = TN__THREAD_END(free_listing);

/* A copy of the name at an index, or null with an error raised. */
static char *name_at(TVMFFIObjectHandle names, int index) {
  TVMFFIAny argument = {.type_index = kTVMFFIInt, .v_int64 = index}, name = {.type_index = kTVMFFINone};
  if (TVMFFIFunctionCall(names, &argument, 1, &name) != 0) return NULL;
  const TVMFFIByteArray small = {name.v_bytes, name.small_str_len};
  const TVMFFIByteArray text = name.type_index == kTVMFFISmallStr ? small : *TVMFFIBytesGetByteArrayPtr(name.v_obj);
  char *copy = calloc(1, text.size + 1);
  if (copy != NULL) memcpy(copy, text.data, text.size);
  else tn__legacy_raise("MemoryError", "out of memory for the names");
  tn__legacy_drop(&name);
  return copy;
}

static int list_names(TVMFFIObjectHandle names, int *out_size, const char ***out_array) {
  TVMFFIAny argument = {.type_index = kTVMFFIInt, .v_int64 = -1}, count = {.type_index = kTVMFFINone};
  if (TVMFFIFunctionCall(names, &argument, 1, &count) != 0) return -1;
  char **block = calloc((size_t)count.v_int64 + 1, sizeof *block);
  if (block == NULL || !tn__at_thread_end(&thread_end, block)) {
    free(block);
    return tn__legacy_raise("MemoryError", "out of memory for the names");
  }
  free_listing(listing);
  listing = block;
  for (int i = 0; i < (int)count.v_int64; i++)
    if ((block[i] = name_at(names, i)) == NULL) return -1;
  *out_size = (int)count.v_int64;
  *out_array = (const char **)(void *)block;
  return 0;
}

int TVMFuncListGlobalNames(int *out_size, const char ***out_array) {
  TVMFFIAny names;
  int status = tn__legacy_call_global("ffi.FunctionListGlobalNamesFunctor", NULL, 0, &names);
  if (status == 0) status = list_names(names.v_obj, out_size, out_array);
  tn__legacy_drop(&names);
  return tn__legacy_end(status);
}
