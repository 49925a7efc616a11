/* Functions, errors, objects and modules of libtvm_runtime: the convention before tvm-ffi. */
#include <stdlib.h>

#include "tenon/tvm_runtime.h"
#include "support.h"

static int begins(const char *text, const char *start) { return strncmp(text, start, strlen(start)) == 0; }

static int finalized;
static void finalize(void *resource) { finalized += *(int *)resource; }

/* Returns the sum of ints and bools plus the resource, or fails with -2 without arguments. */
static int sum(TVMValue *args, int *codes, int num_args, TVMRetValueHandle ret, void *resource) {
  TVMValue total = {.v_int64 = *(int *)resource};
  int code = kTVMArgInt;
  if (num_args == 0) return -2;
  for (int i = 0; i < num_args; i++) {
    if (codes[i] != kTVMArgInt && codes[i] != kTVMArgBool) {
      TVMAPISetLastError("TypeError: sum takes whole numbers");
      return -1;
    }
    total.v_int64 += args[i].v_int64;
  }
  return TVMCFuncSetReturn(ret, &total, &code, 1);
}

TEST(tvm_legacy_a_c_function_is_called_and_finalized_once) {
  int64_t before = tn_tvm_live_objects();
  int resource = 5, codes[20];
  TVMFunctionHandle function;
  TVMValue args[20], result;
  int code = -1;
  finalized = 0;
  CHECK(TVMFuncCreateFromCFunc(sum, &resource, finalize, &function) == 0);
  for (int i = 0; i < 20; i++) args[i].v_int64 = 1, codes[i] = i % 2 == 0 ? kTVMArgInt : kTVMArgBool;
  CHECK(TVMFuncCall(function, args, codes, 2, &result, &code) == 0 && code == kTVMArgInt && result.v_int64 == 7);
  CHECK(TVMFuncCall(function, args, codes, 20, &result, &code) == 0 && result.v_int64 == 25);
  codes[3] = kTVMArgFloat;
  CHECK(TVMFuncCall(function, args, codes, 20, &result, &code) == -1);
  CHECK(strcmp(TVMGetLastError(), "TypeError: sum takes whole numbers") == 0);
  CHECK(raised_is("TypeError", "sum takes whole numbers"));
  CHECK(TVMFuncCall(function, args, codes, -1, &result, &code) == -1 && begins(TVMGetLastError(), "ValueError: num_args"));
  codes[3] = 99;
  CHECK(TVMFuncCall(function, args, codes, 4, &result, &code) == -1);
  CHECK(raised_is("TypeError", "a value of code 99 cannot be passed to tvm-ffi"));
  /* The host keeps the error, so its message is empty. */
  CHECK(TVMFuncCall(function, NULL, NULL, 0, &result, &code) == -1);
  CHECK(raised_is("EnvErrorAlreadySet", ""));
  CHECK(TVMFuncFree(function) == 0 && finalized == 5);
  CHECK(tn_tvm_live_objects() == before);
}

static int give(TVMValue *args, int *codes, int num_args, TVMRetValueHandle ret, void *resource) {
  (void)resource;
  int count = num_args > 1 ? 2 : 1;
  return TVMCFuncSetReturn(ret, args, codes, count);
}

TEST(tvm_legacy_results_of_each_code_are_returned) {
  int64_t before = tn_tvm_live_objects();
  TVMFunctionHandle function;
  TVMValue value, result;
  int code, result_code;
  CHECK(TVMFuncCreateFromCFunc(give, NULL, NULL, &function) == 0);
#define GIVE(member, given, its_code)  \
  value.v_int64 = 0;                   \
  value.member = given;                \
  code = its_code;                     \
  CHECK(TVMFuncCall(function, &value, &code, 1, &result, &result_code) == 0)
  GIVE(v_int64, INT64_MIN, kTVMArgInt);
  CHECK(result_code == kTVMArgInt && result.v_int64 == INT64_MIN);
  GIVE(v_int64, 1, kTVMArgBool);
  CHECK(result_code == kTVMArgBool && result.v_int64 == 1);
  GIVE(v_float64, 2.5, kTVMArgFloat);
  CHECK(result_code == kTVMArgFloat && result.v_float64 == 2.5);
  GIVE(v_handle, &value, kTVMOpaqueHandle);
  CHECK(result_code == kTVMOpaqueHandle && result.v_handle == &value);
  GIVE(v_handle, NULL, kTVMNullptr);
  CHECK(result_code == kTVMNullptr && result.v_handle == NULL);
  GIVE(v_device, ((DLDevice){2, 3}), kDLDevice);
  CHECK(result_code == kDLDevice && result.v_device.device_type == 2 && result.v_device.device_id == 3);
  GIVE(v_str, "short", kTVMStr);
  CHECK(result_code == kTVMStr && strcmp(result.v_str, "short") == 0);
  GIVE(v_str, "text that is longer", kTVMStr);
  CHECK(result_code == kTVMStr && strcmp(result.v_str, "text that is longer") == 0);
  /* An element type is returned as text. */
  GIVE(v_type, ((DLDataType){kDLFloat, 32, 4}), kTVMDataType);
  CHECK(result_code == kTVMStr && strcmp(result.v_str, "float32x4") == 0);
  TVMByteArray few = {"a\0b", 3}, many = {"bytes\0that are many", 19};
  GIVE(v_handle, &few, kTVMBytes);
  const TVMByteArray *bytes = result.v_handle;
  CHECK(result_code == kTVMBytes && bytes->size == 3 && memcmp(bytes->data, "a\0b", 3) == 0);
  GIVE(v_handle, &many, kTVMBytes);
  bytes = result.v_handle;
  CHECK(result_code == kTVMBytes && bytes->size == 19 && memcmp(bytes->data, many.data, 19) == 0);
  CHECK(TVMByteArrayFree(result.v_handle) == 0);
  CHECK(TVMByteArrayFree(&few) == -1 && raised_is("ValueError", "only the bytes that a call returned"));
  GIVE(v_handle, function, kTVMPackedFuncHandle);
  CHECK(result_code == kTVMPackedFuncHandle && result.v_handle == function);
  CHECK(TVMFuncFree(result.v_handle) == 0);
  /* A function returns one value. */
  TVMValue two[2] = {{.v_int64 = 1}, {.v_int64 = 2}};
  int two_codes[2] = {kTVMArgInt, kTVMArgInt};
  CHECK(TVMFuncCall(function, two, two_codes, 2, &result, &result_code) == -1);
  CHECK(raised_is("ValueError", "a function returns one value, got 2"));
  int64_t shape[1] = {3};
  DLTensor borrowed = {.ndim = 1, .dtype = {kDLFloat, 32, 1}, .shape = shape, .device = {kDLCPU, 0}};
  value.v_handle = &borrowed;
  code = kTVMDLTensorHandle;
  CHECK(TVMFuncCall(function, &value, &code, 1, &result, &result_code) == -1);
  CHECK(raised_is("RuntimeError", "Cannot hold a DLTensor* in Any"));
  CHECK(TVMFuncFree(function) == 0);
  CHECK(tn_tvm_live_objects() == before);
}

static TVMValue kept;
static int kept_code;

static int keep(TVMValue *args, int *codes, int num_args, TVMRetValueHandle ret, void *resource) {
  (void)num_args, (void)ret, (void)resource;
  kept = args[0];
  kept_code = codes[0];
  return TVMCbArgToReturn(&kept, &kept_code);
}

TEST(tvm_legacy_an_argument_can_be_kept_or_moved) {
  int64_t before = tn_tvm_live_objects();
  TVMFunctionHandle function, other;
  TVMArrayHandle array;
  TVMValue value = {.v_int64 = 3}, result;
  int code = kTVMArgInt, result_code, resource = 1;
  int64_t shape[1] = {2};
  CHECK(TVMFuncCreateFromCFunc(keep, NULL, NULL, &function) == 0);
  CHECK(TVMFuncCreateFromCFunc(sum, &resource, NULL, &other) == 0);
  CHECK(TVMFuncCall(function, &value, &code, 1, &result, &result_code) == 0 && kept_code == kTVMArgInt && kept.v_int64 == 3);
  value.v_handle = other;
  code = kTVMPackedFuncHandle;
  CHECK(TVMFuncCall(function, &value, &code, 1, &result, &result_code) == 0);
  CHECK(kept_code == kTVMPackedFuncHandle && kept.v_handle == other);
  CHECK(TVMFuncFree(kept.v_handle) == 0);
  CHECK(TVMArrayAlloc(shape, 1, kDLFloat, 32, 1, kDLCPU, 0, &array) == 0);
  value.v_handle = array;
  code = kTVMNDArrayHandle;
  CHECK(TVMFuncCall(function, &value, &code, 1, &result, &result_code) == 0);
  CHECK(kept_code == kTVMNDArrayHandle && kept.v_handle == array);
  CHECK(TVMArrayFree(array) == 0 && ((TVMArrayHandle)kept.v_handle)->shape[0] == 2 && TVMArrayFree(kept.v_handle) == 0);
  /* A reference to the caller's slot; taking the object leaves null. */
  value.v_handle = &other;
  code = kTVMObjectRValueRefArg;
  CHECK(TVMFuncCall(function, &value, &code, 1, &result, &result_code) == 0);
  CHECK(kept_code == kTVMPackedFuncHandle && other == NULL);
  CHECK(TVMFuncFree(kept.v_handle) == 0);
  CHECK(TVMFuncCall(function, &value, &code, 1, &result, &result_code) == -1);
  CHECK(raised_is("InternalError", "RValueRef already moved"));
  value.v_str = "text";
  code = kTVMStr;
  CHECK(TVMFuncCall(function, &value, &code, 1, &result, &result_code) == -1);
  CHECK(raised_is("TypeError", "text and bytes have no owner"));
  CHECK(TVMFuncFree(function) == 0);
  CHECK(tn_tvm_live_objects() == before);
}

TEST(tvm_legacy_the_registry_is_shared_with_tvm_ffi) {
  int64_t before = tn_tvm_live_objects();
  TVMFunctionHandle function, found;
  int resource = 1, count = 0, seen = 0;
  const char **names;
  CHECK(TVMFuncCreateFromCFunc(sum, &resource, NULL, &function) == 0);
  CHECK(TVMFuncGetGlobal("test.c.legacy", &found) == 0 && found == NULL);
  CHECK(TVMFuncRegisterGlobal("test.c.legacy", function, 0) == 0);
  CHECK(TVMFuncRegisterGlobal("test.c.legacy", function, 0) == -1);
  CHECK(strcmp(TVMGetLastError(), "InternalError: Global PackedFunc test.c.legacy is already registered") == 0);
  CHECK(TVMFuncRegisterGlobal("test.c.legacy", function, 1) == 0);
  CHECK(TVMFuncGetGlobal("test.c.legacy", &found) == 0 && found == function && TVMFuncFree(found) == 0);
  TVMFFIByteArray name = span_of("test.c.legacy");
  CHECK(TVMFFIFunctionGetGlobal(&name, &found) == 0 && found == function && TVMFuncFree(found) == 0);
  for (int round = 0; round < 2; round++) {
    CHECK(TVMFuncListGlobalNames(&count, &names) == 0 && count > 10);
    for (int i = 0; i < count; i++) seen += strcmp(names[i], "test.c.legacy") == 0 || strcmp(names[i], "ffi.SystemLib") == 0;
  }
  CHECK(seen == 4);
  CHECK(TVMFuncRemoveGlobal("test.c.legacy") == 0 && TVMFuncRemoveGlobal("test.c.legacy") == 0);
  CHECK(TVMFuncGetGlobal("test.c.legacy", &found) == 0 && found == NULL);
  CHECK(TVMFuncFree(function) == 0);
  raised_is("", ""); /* a failed call leaves its error raised */
  CHECK(tn_tvm_live_objects() == before);
}

static int host_errors;
static void hold(void *error) { host_errors += error == &host_errors; }
static void drop(void *error) { host_errors -= error == &host_errors; }

TEST(tvm_legacy_errors_are_text_with_kind_and_trace) {
  TVMAPISetLastError("ValueError: first line\nsecond line\nStack trace:\n  0: kernel\n  1: caller\n");
  CHECK(strcmp(TVMGetLastBacktrace(), "  0: kernel\n  1: caller\n") == 0);
  CHECK(begins(TVMGetLastError(), "ValueError: first line\nsecond line\nStack trace:"));
  CHECK(raised_is("ValueError", "first line\nsecond line"));
  TVMAPISetLastError("scale: num_args should be 2");
  CHECK(TVMGetLastBacktrace()[0] == '\0' && raised_is("RuntimeError", "scale: num_args should be 2"));
  TVMAPISetLastError("my.module.CustomError: said so");
  CHECK(raised_is("my.module.CustomError", "said so"));
  TVMAPISetLastError("");
  CHECK(TVMGetLastError()[0] == '\0' && raised_is("RuntimeError", ""));
  /* Error objects of the host's language. */
  CHECK(TVMBackendRegisterEnvCAPI("Py_IncRef", (void *)(uintptr_t)hold) == 0);
  CHECK(TVMBackendRegisterEnvCAPI("Py_DecRef", (void *)(uintptr_t)drop) == 0);
  CHECK(TVMBackendRegisterEnvCAPI("PyErr_CheckSignals", NULL) == 0);
  CHECK(TVMBackendRegisterEnvCAPI("Py_Other", NULL) == -1 && raised_is("ValueError", "Unknown env API Py_Other"));
  CHECK(TVMGetLastPythonError() == NULL);
  TVMAPISetLastPythonError(&host_errors);
  TVMAPISetLastPythonError(&host_errors);
  CHECK(TVMGetLastPythonError() == &host_errors && host_errors == 1);
  TVMDropLastPythonError();
  CHECK(TVMGetLastPythonError() == NULL && host_errors == 0);
  TVMBackendRegisterEnvCAPI("Py_IncRef", NULL);
  TVMBackendRegisterEnvCAPI("Py_DecRef", NULL);
}

TEST(tvm_legacy_types_keep_their_indices) {
  TVMFunctionHandle function;
  unsigned index;
  char *key;
  int is_derived;
  static const char *const keys[] = {"runtime.Object", "runtime.Module", "runtime.NDArray",    "runtime.String",
                                     "Array",          "Map",            "runtime.ShapeTuple", "runtime.PackedFunc"};
  for (unsigned i = 0; i < 8; i++) {
    CHECK(TVMObjectTypeKey2Index(keys[i], &index) == 0 && index == i);
    CHECK(TVMObjectTypeIndex2Key(i, &key) == 0 && strcmp(key, keys[i]) == 0);
    free(key);
    CHECK(TVMObjectDerivedFrom(i, 0, &is_derived) == 0 && is_derived == 1);
    CHECK(TVMObjectDerivedFrom(0, i, &is_derived) == 0 && is_derived == (i == 0));
  }
  CHECK(TVMFuncCreateFromCFunc(sum, NULL, NULL, &function) == 0);
  CHECK(TVMObjectGetTypeIndex(function, &index) == 0 && index == 7);
  CHECK(TVMObjectRetain(function) == 0 && TVMObjectFree(function) == 0 && TVMObjectFree(function) == 0);
  CHECK(TVMObjectFree(NULL) == 0);
  CHECK(TVMObjectGetTypeIndex(NULL, &index) == -1 && raised_is("ValueError", "the object must not be null"));
  /* All other types have the index of tvm-ffi. */
  TVMFFIByteArray parent_key = span_of("test.c.LegacyParent"), child_key = span_of("test.c.LegacyChild");
  int32_t parent = TVMFFITypeGetOrAllocIndex(&parent_key, -1, 1, 1, 1, kTVMFFIObject);
  int32_t child = TVMFFITypeGetOrAllocIndex(&child_key, -1, 2, 0, 1, parent);
  CHECK(TVMObjectTypeKey2Index("test.c.LegacyChild", &index) == 0 && index == (unsigned)child);
  CHECK(TVMObjectTypeIndex2Key(index, &key) == 0 && strcmp(key, "test.c.LegacyChild") == 0);
  free(key);
  CHECK(TVMObjectDerivedFrom((uint32_t)child, (uint32_t)parent, &is_derived) == 0 && is_derived == 1);
  CHECK(TVMObjectDerivedFrom((uint32_t)parent, (uint32_t)child, &is_derived) == 0 && is_derived == 0);
  CHECK(TVMObjectTypeKey2Index("ffi.Error", &index) == 0 && index == kTVMFFIError);
  CHECK(TVMObjectTypeKey2Index("test.c.Nobody", &index) == -1 && raised_is("InternalError", "Cannot find type"));
  CHECK(TVMObjectTypeIndex2Key(9, &key) == -1 && raised_is("InternalError", "Unknown type index 9"));
  /* The tvm-ffi index of a type with a legacy index is unknown. */
  CHECK(TVMObjectTypeIndex2Key(kTVMFFIFunction, &key) == -1 && raised_is("InternalError", "Unknown type index 68"));
  CHECK(TVMObjectDerivedFrom(UINT32_MAX, 0, &is_derived) == -1 && raised_is("InternalError", "Unknown type index"));
}

static int double_it(TVMValue *args, int *codes, int num_args, TVMValue *ret, int *ret_code, void *resource) {
  (void)num_args, (void)codes, (void)resource;
  ret->v_int64 = 2 * args[0].v_int64;
  *ret_code = kTVMArgInt;
  return 0;
}

TEST(tvm_legacy_modules_have_functions_and_imports) {
  static void *context, *other_context;
  TVMModuleHandle module, other;
  TVMFunctionHandle system, function;
  TVMValue args[2] = {{.v_str = "legacy_c_"}}, result;
  int codes[2] = {kTVMStr}, code;
  CHECK(tn_tvm_legacy_install() == 0);
  CHECK(TVMBackendRegisterSystemLibSymbol("legacy_c_double_it", (void *)(uintptr_t)double_it) == 0);
  CHECK(TVMBackendRegisterSystemLibSymbol("legacy_c___tvm_module_ctx", &context) == 0);
  CHECK(TVMBackendRegisterSystemLibSymbol("legacy_d___tvm_module_ctx", &other_context) == 0);
  CHECK(TVMFuncGetGlobal("runtime.SystemLib", &system) == 0 && system != NULL);
  CHECK(TVMFuncCall(system, args, codes, 1, &result, &code) == 0 && code == kTVMModuleHandle);
  module = result.v_handle;
  args[0].v_str = "legacy_d_";
  CHECK(TVMFuncCall(system, args, codes, 1, &result, &code) == 0);
  other = result.v_handle;
  CHECK(context == module && other_context == other);
  CHECK(TVMModGetFunction(other, "double_it", 1, &function) == 0 && function == NULL);
  CHECK(TVMModImport(other, module) == 0);
  CHECK(TVMModImport(module, other) == -1 && raised_is("RuntimeError", "Cyclic dependency"));
  CHECK(TVMModGetFunction(other, "double_it", 0, &function) == 0 && function == NULL);
  CHECK(TVMModGetFunction(other, "double_it", 1, &function) == 0 && function != NULL);
  args[0].v_int64 = 21;
  codes[0] = kTVMArgInt;
  CHECK(TVMFuncCall(function, args, codes, 1, &result, &code) == 0 && code == kTVMArgInt && result.v_int64 == 42);
  CHECK(TVMFuncFree(function) == 0 && TVMFuncFree(system) == 0);
  CHECK(TVMModFree(module) == 0 && TVMModFree(other) == 0);
  CHECK(TVMModLoadFromFile("/nowhere/lib.so", "so", &module) == -1);
  CHECK(raised_is("InternalError", "Failed to load dynamic shared library /nowhere/lib.so"));
  CHECK(TVMModLoadFromFile("/nowhere/lib.so", "", &module) == -1 && raised_is("InternalError", "Failed to load"));
  CHECK(TVMModLoadFromFile("/nowhere/lib", "", &module) == -1 && raised_is("RuntimeError", "Failed to get file format"));
  CHECK(TVMModLoadFromFile("/nowhere/lib.ptx", "ptx", &module) == -1);
  CHECK(raised_is("ValueError", "Function runtime.module.loadfile_ptx not found"));
}
