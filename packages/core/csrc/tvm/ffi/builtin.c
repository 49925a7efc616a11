/* The global functions of this library: registration, checks of their arguments, and the smallest of them. */
#include <stdio.h>
#include <stdlib.h>

#include "internal.h"

void tn__register_builtins(const tn__builtin_t *builtins, size_t count) {
  for (size_t i = 0; i < count; i++) {
    TVMFFIByteArray name = {builtins[i].name, strlen(builtins[i].name)};
    TVMFFIObjectHandle function = NULL;
    if (TVMFFIFunctionCreate(NULL, builtins[i].call, NULL, &function) != 0 ||
        TVMFFIFunctionSetGlobal(&name, function, 0) != 0) {
      /* At load nobody can be told, and kernels rely on these functions. */
      fprintf(stderr, "libtvm_ffi: the global function %s could not be registered\n", builtins[i].name);
      abort();
    }
    tn__release(function);
  }
}

int tn__expect_count(const char *name, int32_t expected, int32_t got) {
  if (expected == got) return 0;
  return tn__raise("TypeError", "Mismatched number of arguments when calling: `%s`. Expected %d but got %d arguments", name,
                   expected, got);
}

int tn__argument_mismatch(const char *name, int32_t index, const char *expected, const TVMFFIAny *got) {
  return tn__raise("TypeError", "Mismatched type on argument #%d when calling: `%s`. Expected `%s` but got `%s`", index,
                   name, expected, tn__type_name(got->type_index));
}

int tn__argument_int(const char *name, const TVMFFIAny *args, int32_t index, int64_t *out) {
  const TVMFFIAny *value = &args[index];
  if (value->type_index != kTVMFFIInt && value->type_index != kTVMFFIBool)
    return tn__argument_mismatch(name, index, "int", value);
  *out = value->v_int64;
  return 0;
}

int tn__argument_text(const char *name, const TVMFFIAny *args, int32_t index, TVMFFIByteArray *out) {
  if (tn__text_of(&args[index], false, out)) return 0;
  return tn__argument_mismatch(name, index, "str", &args[index]);
}

int tn__argument_object(const char *name, const TVMFFIAny *args, int32_t index, int32_t type_index, void **out) {
  if (args[index].type_index != type_index)
    return tn__argument_mismatch(name, index, tn__type_name(type_index), &args[index]);
  *out = args[index].v_obj;
  return 0;
}

/* ffi.String(text) and ffi.Bytes(bytes): an owned copy */
static int make_string(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  (void)self;
  TVMFFIByteArray text;
  if (tn__expect_count("ffi.String", 1, num_args) != 0 || tn__argument_text("ffi.String", args, 0, &text) != 0) return -1;
  return TVMFFIStringFromByteArray(&text, result);
}

static int make_bytes(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  (void)self;
  TVMFFIByteArray bytes, text;
  if (tn__expect_count("ffi.Bytes", 1, num_args) != 0) return -1;
  if (tn__text_of(&args[0], false, &text) || !tn__text_of(&args[0], true, &bytes))
    return tn__argument_mismatch("ffi.Bytes", 0, "bytes", &args[0]);
  return TVMFFIBytesFromByteArray(&bytes, result);
}

/* ffi.FunctionFromExternC(self, safe_call, deleter): pointers, of which the first and the last may be None */
static int from_extern_c(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  (void)self;
  if (tn__expect_count("ffi.FunctionFromExternC", 3, num_args) != 0) return -1;
  void *pointers[3];
  for (int32_t i = 0; i < 3; i++) {
    bool is_none = args[i].type_index == kTVMFFINone;
    if (!is_none && args[i].type_index != kTVMFFIOpaquePtr)
      return tn__argument_mismatch("ffi.FunctionFromExternC", i, "void*", &args[i]);
    pointers[i] = is_none ? NULL : args[i].v_ptr;
  }
  if (pointers[1] == NULL) return tn__raise("ValueError", "safe_call must not be null");
  TVMFFIObjectHandle function;
  int status = TVMFFIFunctionCreate(pointers[0], (TVMFFISafeCallType)(uintptr_t)pointers[1],
                                    (void (*)(void *))(uintptr_t)pointers[2], &function);
  if (status == 0) *result = tn__object(function);
  return status;
}

/* --- objects that mean "none here", compared by identity --------------------------------------------------------------- */

static TVMFFIObject missing = {.combined_ref_count = 1 | (uint64_t)1 << 32, .type_index = kTVMFFIObject};
static TVMFFIObject kwargs = {.combined_ref_count = 1 | (uint64_t)1 << 32, .type_index = kTVMFFIObject};

void *tn__missing_object(void) {
  tn__retain(&missing);
  return &missing;
}

static int get_missing(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  (void)self;
  (void)args;
  if (tn__expect_count("ffi.GetInvalidObject", 0, num_args) != 0) return -1;
  *result = tn__object(tn__missing_object());
  return 0;
}

static int get_kwargs(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  (void)self;
  (void)args;
  if (tn__expect_count("ffi.GetKwargsObject", 0, num_args) != 0) return -1;
  tn__retain(&kwargs);
  *result = tn__object(&kwargs);
  return 0;
}

__attribute__((constructor)) static void register_functions(void) {
  static const tn__builtin_t builtins[] = {
      {"ffi.String", make_string},           {"ffi.Bytes", make_bytes},
      {"ffi.FunctionFromExternC", from_extern_c}, {"ffi.GetInvalidObject", get_missing},
      {"ffi.GetKwargsObject", get_kwargs},
  };
  tn__register_builtins(builtins, sizeof builtins / sizeof *builtins);
}
