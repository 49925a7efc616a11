/* Global functions, in the table of tvm-ffi. */
#include <stdlib.h>
#include <string.h>

#include "../host/thread_end.h"
#include "convert.h"
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

/* --- the list of names: pointers, then texts, in a block that the thread keeps until its next call ---------------- */

static _Thread_local void *listing;
static tn__thread_end_t thread_end = TN__THREAD_END(free);

typedef struct {
  const char **names;
  char *text;
} list_t;

static TVMFFIByteArray text_of(const TVMFFIAny *value) {
  if (value->type_index == kTVMFFISmallStr) return (TVMFFIByteArray){value->v_bytes, value->small_str_len};
  return *TVMFFIBytesGetByteArrayPtr(value->v_obj);
}

/* Adds the size of the name at an index, with its NUL, to `size`. Copies the name to `list` unless that is null. */
static int read_name(TVMFFIObjectHandle names, int index, list_t *list, size_t *size) {
  TVMFFIAny argument = {.type_index = kTVMFFIInt, .v_int64 = index}, name = {.type_index = kTVMFFINone};
  if (TVMFFIFunctionCall(names, &argument, 1, &name) != 0) return -1;
  TVMFFIByteArray text = text_of(&name);
  if (list != NULL) {
    memcpy(list->text + *size, text.data, text.size);
    list->text[*size + text.size] = '\0';
    list->names[index] = list->text + *size;
  }
  *size += text.size + 1;
  tn__legacy_drop(&name);
  return 0;
}

static int list_names(TVMFFIObjectHandle names, int *out_size, const char ***out_array) {
  TVMFFIAny argument = {.type_index = kTVMFFIInt, .v_int64 = -1}, count = {.type_index = kTVMFFINone};
  if (TVMFFIFunctionCall(names, &argument, 1, &count) != 0) return -1;
  const int total = (int)count.v_int64;
  size_t size = 0, end = 0;
  for (int i = 0; i < total; i++)
    if (read_name(names, i, NULL, &size) != 0) return -1;
  const char **block = malloc((size_t)total * sizeof *block + size + 1);
  if (block == NULL || !tn__at_thread_end(&thread_end, block)) {
    free((void *)block);
    return tn__legacy_raise("MemoryError", "out of memory for the names");
  }
  free(listing);
  listing = (void *)block;
  list_t list = {.names = block, .text = (char *)(block + total)};
  for (int i = 0; i < total; i++)
    if (read_name(names, i, &list, &end) != 0) return -1;
  *out_size = total;
  *out_array = block;
  return 0;
}

int TVMFuncListGlobalNames(int *out_size, const char ***out_array) {
  TVMFFIAny names;
  /* The function is a snapshot, so it returns the same names on both passes. */
  int status = tn__legacy_call_global("ffi.FunctionListGlobalNamesFunctor", NULL, 0, &names);
  if (status == 0) status = list_names(names.v_obj, out_size, out_array);
  tn__legacy_drop(&names);
  return tn__legacy_end(status);
}
