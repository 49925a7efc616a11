/* ffi.GetRegisteredTypeKeys(): the keys of all types, in the order of their indices. */
#include <stdlib.h>

#include "internal.h"

typedef struct {
  TVMFFIAny *keys;
  int32_t count, capacity;
  bool failed;
} keys_t;

static void add_key(const TVMFFITypeInfo *info, void *context) {
  keys_t *keys = context;
  if (keys->failed) return;
  if (keys->count == keys->capacity) {
    int32_t capacity = keys->capacity == 0 ? 64 : 2 * keys->capacity;
    TVMFFIAny *grown = realloc(keys->keys, (size_t)capacity * sizeof *grown);
    keys->failed = grown == NULL;
    if (keys->failed) return;
    keys->keys = grown;
    keys->capacity = capacity;
  }
  keys->failed = tn__text(info->type_key.data, info->type_key.size, &keys->keys[keys->count]) != 0;
  if (!keys->failed) keys->count++;
}

static int registered_keys(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  static const TVMFFIByteArray array = {"ffi.Array", 9};
  (void)self, (void)args;
  keys_t keys = {.keys = NULL};
  TVMFFIObjectHandle make = NULL;
  if (tn__expect_count("ffi.GetRegisteredTypeKeys", 0, num_args) != 0) return -1;
  tn__each_type(add_key, &keys);
  int status = keys.failed ? tn__no_memory() : TVMFFIFunctionGetGlobal(&array, &make);
  if (status == 0 && make == NULL) status = tn__raise("RuntimeError", "the global function ffi.Array was removed");
  if (status == 0) status = TVMFFIFunctionCall(make, keys.keys, keys.count, result);
  tn__release(make);
  for (int32_t i = 0; i < keys.count; i++) tn__clear(&keys.keys[i]);
  free(keys.keys);
  return status;
}

__attribute__((constructor)) static void register_functions(void) {
  static const tn__builtin_t builtins[] = {{"ffi.GetRegisteredTypeKeys", registered_keys}};
  tn__register_builtins(builtins, 1);
}
