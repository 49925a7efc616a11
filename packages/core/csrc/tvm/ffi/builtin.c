/* The types, type attributes and global functions that exist as soon as the library is loaded. */
#include <stdio.h>
#include <stdlib.h>

#include "enumeration.h"
#include "module.h"

/* The types that the ABI names. Those after ffi.Object are its children. */
static const struct {
  int32_t index;
  const char *key;
} types[] = {
    {kTVMFFINone, "None"},                           {kTVMFFIInt, "int"},
    {kTVMFFIBool, "bool"},                           {kTVMFFIFloat, "float"},
    {kTVMFFIOpaquePtr, "void*"},                     {kTVMFFIDataType, "DataType"},
    {kTVMFFIDevice, "Device"},                       {kTVMFFIDLTensorPtr, "DLTensor*"},
    {kTVMFFIRawStr, "const char*"},                  {kTVMFFIByteArrayPtr, "TVMFFIByteArray*"},
    {kTVMFFIObjectRValueRef, "ObjectRValueRef"},     {kTVMFFISmallStr, "ffi.SmallStr"},
    {kTVMFFISmallBytes, "ffi.SmallBytes"},           {kTVMFFIObject, "ffi.Object"},
    {kTVMFFIStr, "ffi.String"},                      {kTVMFFIBytes, "ffi.Bytes"},
    {kTVMFFIError, "ffi.Error"},                     {kTVMFFIFunction, "ffi.Function"},
    {kTVMFFIShape, "ffi.Shape"},                     {kTVMFFITensor, "ffi.Tensor"},
    {kTVMFFIArray, "ffi.Array"},                     {kTVMFFIList, "ffi.List"},
    {kTVMFFIMap, "ffi.Map"},                         {kTVMFFIDict, "ffi.Dict"},
    {kTVMFFIModule, "ffi.Module"},                   {kTVMFFIOpaquePyObject, "ffi.OpaquePyObject"},
};

static void register_types(void) {
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    const TVMFFIByteArray key = tn__span(types[i].key);
    const bool is_child = types[i].index > kTVMFFIObject;
    TVMFFITypeGetOrAllocIndex(&key, types[i].index, is_child, 0, types[i].index == kTVMFFIObject,
                              is_child ? kTVMFFIObject : -1);
  }
  const TVMFFITypeMetadata metadata = {.total_size = sizeof(TVMFFIObject)};
  TVMFFITypeRegisterMetadata(kTVMFFIObject, &metadata);
}

/* Kernels keep the columns found when they are loaded, so those that tvm-ffi names exist from the start. */
static void register_attributes(void) {
  static const char *const names[] = {
      "__ffi_new__",    "__ffi_init__",   "__ffi_convert__", "__ffi_shallow_copy__", "__ffi_repr__",     "__ffi_hash__",
      "__ffi_eq__",     "__ffi_compare__", "__any_hash__",   "__any_equal__",        "__s_hash__",       "__s_equal__",
      "__s_visit__",    "__data_to_json__", "__data_from_json__", "__ffi_enum__",
  };
  const TVMFFIAny none = tn__none();
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const TVMFFIByteArray name = tn__span(names[i]);
    TVMFFITypeRegisterAttr(kTVMFFINone, &name, &none);
  }
}

static int make_string(const tn__call_t *call) {
  TVMFFIByteArray text;
  return tn__argument_text(call, 0, &text) == 0 ? TVMFFIStringFromByteArray(&text, call->result) : -1;
}

static int make_bytes(const tn__call_t *call) {
  TVMFFIByteArray bytes, text;
  if (tn__text_of(&call->args[0], false, &text) || !tn__text_of(&call->args[0], true, &bytes))
    return tn__argument_mismatch(call, 0, "bytes");
  return TVMFFIBytesFromByteArray(&bytes, call->result);
}

/* ffi.FunctionFromExternC(self, safe_call, deleter): pointers, of which the first and the last may be None */
static int from_extern_c(const tn__call_t *call) {
  void *pointers[3];
  for (int32_t i = 0; i < 3; i++) {
    bool is_none = call->args[i].type_index == kTVMFFINone;
    if (!is_none && call->args[i].type_index != kTVMFFIOpaquePtr) return tn__argument_mismatch(call, i, "void*");
    pointers[i] = is_none ? NULL : call->args[i].v_ptr;
  }
  if (pointers[1] == NULL) return tn__raise("ValueError", "safe_call must not be null");
  TVMFFIObjectHandle function;
  int status = TVMFFIFunctionCreate(pointers[0], (TVMFFISafeCallType)(uintptr_t)pointers[1],
                                    (void (*)(void *))(uintptr_t)pointers[2], &function);
  return status == 0 ? tn__give(call, tn__object(function)) : status;
}

static int make_shape(const tn__call_t *call) { return tn__shape_make(call->args, call->num_args, call->result); }

/* ffi.GetInvalidObject(): the object that represents a missing value, compared by identity */
static int get_missing(const tn__call_t *call) { return tn__give(call, tn__object(tn__missing_object())); }

/* ffi.GetKwargsObject(): the object that separates keyword arguments, compared by identity */
static int get_kwargs(const tn__call_t *call) { return tn__give(call, tn__object(tn__kwargs_object())); }

/* ffi.GetRegisteredTypeKeys(): the keys of all types, in the order of their indices */
static int registered_keys(const tn__call_t *call) {
  int32_t count = 0, filled = 0;
  for (int32_t i = 0; i < TN_TYPE_LIMIT; i++) count += tn_tvm_find_type(i) != NULL;
  TVMFFIAny *keys = calloc((size_t)count, sizeof *keys);
  int status = keys == NULL ? tn__no_memory() : 0;
  for (int32_t i = 0; status == 0 && i < TN_TYPE_LIMIT && filled < count; i++) {
    const TVMFFITypeInfo *info = tn_tvm_find_type(i);
    if (info != NULL) status = TVMFFIStringFromByteArray(&info->type_key, &keys[filled++]);
  }
  if (status == 0) status = tn__sequence_make(kTVMFFIArray, keys, count, call->result);
  for (int32_t i = 0; i < filled; i++) tn__clear(&keys[i]);
  free(keys);
  return status;
}

static const tn__builtin_t builtins[] = {
    {"ffi.String", make_string, 1, 0},
    {"ffi.Bytes", make_bytes, 1, 0},
    {"ffi.FunctionFromExternC", from_extern_c, 3, 0},
    {"ffi.Shape", make_shape, TN_ANY_COUNT, 0},
    {"ffi.GetInvalidObject", get_missing, 0, 0},
    {"ffi.GetKwargsObject", get_kwargs, 0, 0},
    {"ffi.GetRegisteredTypeKeys", registered_keys, 0, 0},
    {.name = NULL},
};

static void register_functions(const tn__builtin_t *table) {
  for (; table->name != NULL; table++) {
    const TVMFFIByteArray name = tn__span(table->name);
    TVMFFIObjectHandle function = NULL;
    if (TVMFFIFunctionCreate((void *)(uintptr_t)table, tn__call_builtin, NULL, &function) != 0 ||
        TVMFFIFunctionSetGlobal(&name, function, 0) != 0) {
      /* While the library is loaded no caller can receive an error, and kernels rely on these functions. */
      fprintf(stderr, "libtvm_ffi: the global function %s could not be registered\n", table->name);
      abort();
    }
    tn__release(function);
  }
}

__attribute__((constructor)) static void register_all(void) {
  const tn__builtin_t *const tables[] = {builtins, tn__sequence_builtins, tn__dictionary_builtins,
                                         tn__registry_builtins, tn__module_builtins, tn__library_builtins,
                                         tn__creation_builtins, tn__device_builtins};
  register_types();
  register_attributes();
  tn__register_enumerations();
  tn__register_module_fields();
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) register_functions(tables[i]);
}
