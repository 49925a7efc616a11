/* Streams, allocators, interruption, modules and types of libtvm_ffi. */
#include "support.h"

TEST(tvm_streams_are_thread_local) {
  void *before = &before;
  int stream;
  CHECK(TVMFFIEnvGetStream(2, 0) == NULL);
  CHECK(TVMFFIEnvSetStream(2, 0, &stream, &before) == 0 && before == NULL);
  CHECK(TVMFFIEnvGetStream(2, 0) == &stream && TVMFFIEnvGetStream(2, 1) == NULL);
  CHECK(TVMFFIEnvSetStream(2, 0, NULL, &before) == 0 && before == &stream);
  CHECK(TVMFFIEnvGetStream(2, 0) == NULL);
}

static int interrupted, entered, left;
static int is_interrupted(void) { return interrupted; }
static void *enter(void) { entered++; return &entered; }
static void leave(void *state) { left += state == &entered; }

TEST(tvm_the_host_decides_about_interruption) {
  CHECK(TVMFFIEnvCheckSignals() == 0);
  CHECK(TVMFFIEnvRegisterCAPI("PyErr_CheckSignals", (void *)(uintptr_t)is_interrupted) == 0);
  CHECK(TVMFFIEnvRegisterCAPI("PyGILState_Ensure", (void *)(uintptr_t)enter) == 0);
  CHECK(TVMFFIEnvRegisterCAPI("PyGILState_Release", (void *)(uintptr_t)leave) == 0);
  CHECK(TVMFFIEnvCheckSignals() == 0);
  interrupted = 1;
  CHECK(TVMFFIEnvCheckSignals() != 0);
  CHECK(entered == 2 && left == 2);
  CHECK(TVMFFIEnvRegisterCAPI("Py_Other", NULL) != 0);
  CHECK(raised_is("ValueError", "Unknown env API Py_Other"));
  TVMFFIEnvRegisterCAPI("PyErr_CheckSignals", NULL);
}

static int refuse(DLTensor *prototype, DLManagedTensorVersioned **out, void *context,
                  void (*set_error)(void *, const char *, const char *)) {
  (void)prototype, (void)out;
  set_error(context, "MemoryError", "no");
  return -1;
}

static int give_nothing(DLTensor *prototype, DLManagedTensorVersioned **out, void *context,
                        void (*set_error)(void *, const char *, const char *)) {
  (void)prototype, (void)context, (void)set_error;
  *out = NULL;
  return 0;
}

TEST(tvm_results_are_allocated_by_the_host) {
  DLTensor prototype = {.ndim = 0};
  TVMFFIObjectHandle tensor;
  DLPackManagedTensorAllocator before = TVMFFIEnvGetDLPackManagedTensorAllocator(), old;
  CHECK(TVMFFIEnvSetDLPackManagedTensorAllocator(NULL, 1, NULL) == 0);
  CHECK(TVMFFIEnvTensorAlloc(&prototype, &tensor) != 0);
  CHECK(raised_is("RuntimeError", "TVMFFIEnvTensorAlloc: allocator is nullptr"));
  CHECK(TVMFFIEnvSetDLPackManagedTensorAllocator(refuse, 0, &old) == 0 && old == NULL);
  CHECK(TVMFFIEnvTensorAlloc(&prototype, &tensor) != 0);
  CHECK(raised_is("MemoryError", "no"));
  CHECK(TVMFFIEnvSetDLPackManagedTensorAllocator(give_nothing, 0, &old) == 0 && old == refuse);
  CHECK(TVMFFIEnvTensorAlloc(&prototype, &tensor) != 0);
  CHECK(raised_is("RuntimeError", "TVMFFIEnvTensorAlloc: failed"));
  TVMFFIEnvSetDLPackManagedTensorAllocator(NULL, 0, NULL);
  TVMFFIEnvSetDLPackManagedTensorAllocator(before, 1, NULL);
}

static int answer(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  (void)self, (void)args, (void)num_args;
  *result = (TVMFFIAny){.type_index = kTVMFFIInt, .v_int64 = 42};
  return 0;
}

TEST(tvm_registered_symbols_form_a_module) {
  static void *context;
  TVMFFIAny module, result, prefix = {.type_index = kTVMFFIRawStr, .v_c_str = "c_test_"};
  CHECK(TVMFFIEnvModRegisterSystemLibSymbol("__tvm_ffi_c_test_answer", (void *)(uintptr_t)answer) == 0);
  CHECK(TVMFFIEnvModRegisterSystemLibSymbol("c_test___tvm_ffi__library_ctx", &context) == 0);
  CHECK(TVMFFIEnvModRegisterContextSymbol("c_test_unused", &context) == 0);
  CHECK(TVMFFIEnvModRegisterSystemLibSymbol("__tvm_ffi_c_test__library_ctx", &context) == 0);
  CHECK(call_global("ffi.SystemLib", &prefix, 1, &module) == 0 && module.type_index == kTVMFFIModule);
  CHECK(context == module.v_obj);
  TVMFFIAny query[3] = {module, {.type_index = kTVMFFIRawStr, .v_c_str = "answer"}, {.type_index = kTVMFFIBool}};
  CHECK(call_global("ffi.ModuleGetFunction", query, 3, &result) == 0 && result.type_index == kTVMFFIFunction);
  TVMFFIAny number = {.type_index = kTVMFFINone};
  CHECK(TVMFFIFunctionCall(result.v_obj, NULL, 0, &number) == 0 && number.v_int64 == 42);
  TVMFFIObjectDecRef(result.v_obj);
  /* The function is borrowed from the module. */
  TVMFFIObjectHandle found, again;
  CHECK(TVMFFIEnvModLookupFromImports(context, "ffi.String", &found) == 0 && found != NULL);
  CHECK(TVMFFIEnvModLookupFromImports(context, "ffi.String", &again) == 0 && again == found);
  CHECK(TVMFFIEnvModLookupFromImports(context, "test.c.nobody", &found) != 0);
  CHECK(raised_is("ValueError", "Cannot find function test.c.nobody in the imported modules or global registry."));
  CHECK(TVMFFIEnvModLookupFromImports(NULL, "ffi.String", &found) != 0);
  CHECK(raised_is("InternalError", ""));
  TVMFFIObjectDecRef(module.v_obj);
}

TEST(tvm_types_know_their_ancestors) {
  TVMFFIByteArray parent_key = span_of("test.c.Parent"), child_key = span_of("test.c.Child");
  int32_t index, parent = TVMFFITypeGetOrAllocIndex(&parent_key, -1, 1, 2, 1, kTVMFFIObject);
  int32_t child = TVMFFITypeGetOrAllocIndex(&child_key, -1, 2, 0, 1, parent);
  CHECK(parent >= kTVMFFIDynObjectBegin && child == parent + 1);
  CHECK(TVMFFITypeGetOrAllocIndex(&child_key, -1, 2, 0, 1, parent) == child);
  CHECK(TVMFFITypeKeyToIndex(&child_key, &index) == 0 && index == child);
  const TVMFFITypeInfo *info = TVMFFIGetTypeInfo(child);
  CHECK(info->type_depth == 2 && info->type_ancestors[0]->type_index == kTVMFFIObject && info->type_ancestors[1]->type_index == parent);
  TVMFFIByteArray unknown = span_of("test.c.Unknown");
  CHECK(TVMFFITypeKeyToIndex(&unknown, &index) != 0);
  CHECK(raised_is("InternalError", "Cannot find type `test.c.Unknown`"));
  CHECK(TVMFFITypeGetOrAllocIndex(&unknown, -1, 1, 0, 1, -2) == -2);
}

static int no_getter(void *field, TVMFFIAny *result) {
  (void)field, (void)result;
  return 0;
}

TEST(tvm_types_have_fields_methods_and_attributes) {
  TVMFFIByteArray key = span_of("test.c.Fields"), attribute = span_of("__test_c__");
  int32_t type = TVMFFITypeGetOrAllocIndex(&key, -1, 1, 0, 1, kTVMFFIObject);
  for (int i = 0; i < 20; i++) {
    char name[2] = {(char)('a' + i), 0};
    TVMFFIFieldInfo field = {.name = {name, 1}, .getter = no_getter, .offset = i};
    CHECK(TVMFFITypeRegisterField(type, &field) == 0);
    CHECK(TVMFFITypeRegisterField(type, &field) != 0);
    CHECK(raised_is("InternalError", "Duplicate field name"));
  }
  const TVMFFITypeInfo *info = TVMFFIGetTypeInfo(type);
  CHECK(info->num_fields == 20 && info->fields[19].name.data[0] == 't' && info->fields[19].offset == 19);
  TVMFFIMethodInfo method = {.name = span_of("m"), .method = {.type_index = kTVMFFIInt, .v_int64 = 3}};
  CHECK(TVMFFITypeRegisterMethod(type, &method) == 0 && info->num_methods == 1);
  TVMFFITypeMetadata metadata = {.total_size = 40, .doc = span_of("doc")};
  CHECK(TVMFFITypeRegisterMetadata(type, &metadata) == 0 && info->metadata->total_size == 40);
  CHECK(TVMFFITypeRegisterMetadata(type, &metadata) != 0);
  CHECK(raised_is("RuntimeError", "Overriding test.c.Fields"));
  TVMFFIAny value = {.type_index = kTVMFFIInt, .v_int64 = 9};
  CHECK(TVMFFIGetTypeAttrColumn(&attribute) == NULL);
  CHECK(TVMFFITypeRegisterAttr(type, &attribute, &value) == 0);
  const TVMFFITypeAttrColumn *column = TVMFFIGetTypeAttrColumn(&attribute);
  CHECK(column != NULL && column->data[type - column->begin_index].v_int64 == 9);
  CHECK(TVMFFITypeRegisterAttr(type, &attribute, &value) != 0);
  CHECK(raised_is("RuntimeError", "TypeAttr `__test_c__` is already registered"));
  CHECK(TVMFFITypeRegisterField(60000, &(TVMFFIFieldInfo){.name = span_of("x")}) != 0);
  CHECK(raised_is("InternalError", "Cannot find type info"));
}

TEST(tvm_types_and_imports_are_listed_and_cleared) {
  TVMFFIAny keys, text, result;
  int64_t before = tn_tvm_live_objects();
  CHECK(call_global("ffi.GetRegisteredTypeKeys", NULL, 0, &keys) == 0 && keys.type_index == kTVMFFIArray);
  const TVMFFISeqCell *cell = (const TVMFFISeqCell *)(const void *)(keys.v_obj + 1);
  int found = 0;
  for (int64_t i = 0; i < cell->size; i++) {
    text = ((const TVMFFIAny *)cell->data)[i];
    if (text.type_index != kTVMFFIStr) continue;
    const char *key = ((const TVMFFIByteArray *)(const void *)(text.v_obj + 1))->data;
    found += strcmp(key, "ffi.Function") == 0 || strcmp(key, "test.c.Fields") == 0;
  }
  CHECK(cell->size > 20 && found == 2);
  TVMFFIObjectDecRef(keys.v_obj);
  CHECK(tn_tvm_live_objects() == before);
  static void *outer_context, *inner_context;
  TVMFFIAny outer, inner, outer_prefix = {.type_index = kTVMFFIRawStr, .v_c_str = "c_outer_"},
                          inner_prefix = {.type_index = kTVMFFIRawStr, .v_c_str = "c_inner_"};
  CHECK(TVMFFIEnvModRegisterSystemLibSymbol("__tvm_ffi_c_outer__library_ctx", &outer_context) == 0);
  CHECK(TVMFFIEnvModRegisterSystemLibSymbol("__tvm_ffi_c_inner__library_ctx", &inner_context) == 0);
  CHECK(TVMFFIEnvModRegisterSystemLibSymbol("__tvm_ffi_c_inner_answer", (void *)(uintptr_t)answer) == 0);
  CHECK(call_global("ffi.SystemLib", &outer_prefix, 1, &outer) == 0);
  CHECK(call_global("ffi.SystemLib", &inner_prefix, 1, &inner) == 0);
  TVMFFIAny both[2] = {outer, inner};
  CHECK(call_global("ffi.ModuleImportModule", both, 2, &result) == 0);
  TVMFFIAny query[3] = {outer, {.type_index = kTVMFFIRawStr, .v_c_str = "answer"}, {.type_index = kTVMFFIBool, .v_int64 = 1}};
  CHECK(call_global("ffi.ModuleImplementsFunction", query, 3, &result) == 0 && result.v_int64 == 1);
  CHECK(call_global("ffi.ModuleClearImports", &outer, 1, &result) == 0);
  CHECK(call_global("ffi.ModuleImplementsFunction", query, 3, &result) == 0 && result.v_int64 == 0);
  CHECK(call_global("ffi.ModuleGetPropertyMask", &outer, 1, &result) == 0 && result.v_int64 == 2);
  TVMFFIObjectDecRef(outer.v_obj);
  TVMFFIObjectDecRef(inner.v_obj);
}
