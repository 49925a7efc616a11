#include <stdlib.h>

#include "support.h"

static int released;
static void count_release(void *handle) { released += *(int *)handle; }

TEST(tvm_an_opaque_object_releases_its_handle_once) {
  int step = 1;
  TVMFFIObjectHandle object;
  int64_t before = tn_tvm_live_objects();
  released = 0;
  CHECK(TVMFFIObjectCreateOpaque(&step, kTVMFFIOpaquePyObject, count_release, &object) == 0);
  CHECK(TVMFFIObjectIncRef(object) == 0);
  CHECK(TVMFFIObjectDecRef(object) == 0);
  CHECK(released == 0);
  CHECK(tn_tvm_live_objects() == before + 1);
  CHECK(TVMFFIObjectDecRef(object) == 0);
  CHECK(released == 1);
  CHECK(tn_tvm_live_objects() == before);
  CHECK(TVMFFIObjectCreateOpaque(&step, kTVMFFIObject, NULL, &object) != 0);
  CHECK(raised_is("RuntimeError", "an opaque object"));
}

static void *allocations;
static int allocated;
static void delete_counted(void *object) { free(*(void **)((char *)object - 16)); allocated--; }

static void *allocate_counted(size_t size, size_t alignment, int32_t type_index, void *context) {
  (void)alignment, (void)type_index;
  char *block = malloc(size + 16);
  *(char **)(void *)block = block;
  ((TVMFFIObjectAllocHeader *)(void *)(block + 8))->delete_space = delete_counted;
  allocated++;
  *(void **)context = block;
  return block + 16;
}

TEST(tvm_objects_are_allocated_and_freed_by_the_custom_allocator) {
  TVMFFICustomAllocator own = {allocate_counted, &allocations};
  TVMFFICustomAllocator *before = TVMFFIGetCustomAllocator();
  TVMFFIAny text, later;
  TVMFFIByteArray span = span_of("longer than seven");
  CHECK(TVMFFISetCustomAllocator(&own) == 0);
  CHECK(TVMFFIGetCustomAllocator() == &own);
  CHECK(TVMFFIStringFromByteArray(&span, &text) == 0);
  CHECK(allocated == 1);
  CHECK(TVMFFISetCustomAllocator(NULL) == 0);
  CHECK(TVMFFIGetCustomAllocator() == before);
  CHECK(TVMFFIStringFromByteArray(&span, &later) == 0);
  CHECK(allocated == 1);
  TVMFFIObjectDecRef(text.v_obj);
  TVMFFIObjectDecRef(later.v_obj);
  CHECK(allocated == 0);
}

/* Uses all tables of the library, each of which has a lock. */
static void use_tables(void *unused) {
  (void)unused;
  static int is_nested;
  if (is_nested) return;
  is_nested = 1;
  const TVMFFIByteArray name = span_of("ffi.SystemLib"), key = span_of("ffi.Function"), attribute = span_of("__test_locks__");
  TVMFFIObjectHandle function;
  int32_t index;
  TVMFFIAny module;
  TVMFFIFunctionGetGlobal(&name, &function);
  TVMFFITypeKeyToIndex(&key, &index);
  TVMFFIGetTypeAttrColumn(&attribute);
  TVMFFIEnvModRegisterContextSymbol("__test_locks", &is_nested);
  if (TVMFFIFunctionCall(function, NULL, 0, &module) == 0) TVMFFIObjectDecRef(module.v_obj);
  TVMFFIObjectDecRef(function);
  is_nested = 0;
}

static void *allocate_with_tables(size_t size, size_t alignment, int32_t type_index, void *builtin) {
  use_tables(NULL);
  return ((TVMFFICustomAllocator *)builtin)->allocate(size, alignment, type_index, ((TVMFFICustomAllocator *)builtin)->context);
}

/* Raises an error whose destructor uses the tables, so that the next error does so. */
static void raise_with_destructor(void) {
  const TVMFFIByteArray text = span_of("an earlier error");
  TVMFFIObjectHandle context, error;
  TVMFFIObjectCreateOpaque(&allocated, kTVMFFIOpaquePyObject, use_tables, &context);
  TVMFFIErrorCreateWithCauseAndExtraContext(&text, &text, &text, NULL, context, &error);
  TVMFFIErrorSetRaised(error);
  TVMFFIObjectDecRef(error);
  TVMFFIObjectDecRef(context);
}

TEST(tvm_no_lock_is_held_while_objects_are_allocated_or_destroyed) {
  TVMFFICustomAllocator own = {allocate_with_tables, TVMFFIGetCustomAllocator()};
  const TVMFFIByteArray key = span_of("test.c.Locks"), attribute = span_of("__test_locks__");
  const TVMFFIByteArray list = span_of("ffi.FunctionListGlobalNamesFunctor");
  const TVMFFIAny text = {.type_index = kTVMFFIRawStr, .v_c_str = "longer than seven"};
  const TVMFFIFieldInfo field = {
      .name = span_of("f"), .flags = kTVMFFIFieldFlagBitMaskHasDefault, .default_value_or_factory = text};
  const TVMFFIMethodInfo method = {.name = span_of("m"), .method = text};
  const int64_t before = tn_tvm_live_objects();
  TVMFFIObjectHandle function;
  TVMFFIAny names;
  const int32_t type = TVMFFITypeGetOrAllocIndex(&key, -1, 1, 0, 1, kTVMFFIObject);
  TVMFFISetCustomAllocator(&own);
  int wrong = TVMFFIFunctionGetGlobal(&list, &function) != 0 || TVMFFIFunctionCall(function, NULL, 0, &names) != 0;
  wrong += TVMFFITypeRegisterField(type, &field) != 0 || TVMFFITypeRegisterMethod(type, &method) != 0;
  wrong += TVMFFITypeRegisterAttr(type, &attribute, &text) != 0;
  for (int i = 0; i < 2; i++) {
    raise_with_destructor();
    wrong += (i == 0 ? TVMFFITypeRegisterField(type, &field) : TVMFFITypeRegisterAttr(type, &attribute, &text)) == 0;
    TVMFFIErrorSetRaised(NULL);
  }
  TVMFFISetCustomAllocator(NULL);
  CHECK(wrong == 0);
  TVMFFIObjectDecRef(function);
  TVMFFIObjectDecRef(names.v_obj);
  /* Types keep the default, the method and the attribute, and the system keeps its module. */
  CHECK(tn_tvm_live_objects() <= before + 4);
}

TEST(tvm_over_aligned_objects_are_aligned_and_freed) {
  TVMFFICustomAllocator *builtin = TVMFFIGetCustomAllocator();
  for (size_t alignment = 8; alignment <= 4096; alignment *= 2) {
    char *object = builtin->allocate(100, alignment, kTVMFFIObject, builtin->context);
    CHECK(object != NULL);
    CHECK((uintptr_t)object % alignment == 0);
    memset(object, 1, 100);
    ((TVMFFIObjectAllocHeader *)(void *)(object - sizeof(TVMFFIObjectAllocHeader)))->delete_space(object);
  }
  CHECK(builtin->allocate(SIZE_MAX - 8, 16, kTVMFFIObject, builtin->context) == NULL);
}

TEST(tvm_text_of_up_to_seven_bytes_is_stored_in_the_value) {
  TVMFFIAny value;
  TVMFFIByteArray seven = span_of("sevenby"), eight = span_of("eightbyt");
  CHECK(TVMFFIBytesFromByteArray(&seven, &value) == 0);
  CHECK(value.type_index == kTVMFFISmallBytes && value.small_str_len == 7);
  CHECK(memcmp(value.v_bytes, "sevenby", 8) == 0);
  CHECK(TVMFFIBytesFromByteArray(&eight, &value) == 0);
  CHECK(value.type_index == kTVMFFIBytes && value.zero_padding == 0);
  const TVMFFIByteArray *cell = (const TVMFFIByteArray *)(const void *)(value.v_obj + 1);
  CHECK(cell->size == 8 && cell->data[8] == '\0');
  TVMFFIObjectDecRef(value.v_obj);
}

TEST(tvm_views_convert_to_owned_values) {
  int64_t before = tn_tvm_live_objects();
  TVMFFIByteArray bytes = span_of("some bytes to keep");
  TVMFFIAny out, view = {.type_index = kTVMFFIRawStr, .v_c_str = "some text to keep"};
  CHECK(TVMFFIAnyViewToOwnedAny(&view, &out) == 0 && out.type_index == kTVMFFIStr);
  TVMFFIAny again;
  CHECK(TVMFFIAnyViewToOwnedAny(&out, &again) == 0 && again.v_obj == out.v_obj);
  TVMFFIObjectDecRef(again.v_obj);
  TVMFFIObjectDecRef(out.v_obj);
  view = (TVMFFIAny){.type_index = kTVMFFIRawStr, .v_c_str = "short"};
  CHECK(TVMFFIAnyViewToOwnedAny(&view, &out) == 0 && out.type_index == kTVMFFISmallStr && out.small_str_len == 5);
  view = (TVMFFIAny){.type_index = kTVMFFIByteArrayPtr, .v_ptr = &bytes};
  CHECK(TVMFFIAnyViewToOwnedAny(&view, &out) == 0 && out.type_index == kTVMFFIBytes);
  TVMFFIObject *moved = out.v_obj;
  view = (TVMFFIAny){.type_index = kTVMFFIObjectRValueRef, .v_ptr = &moved};
  CHECK(TVMFFIAnyViewToOwnedAny(&view, &again) == 0 && again.v_obj == out.v_obj && moved == NULL);
  CHECK(TVMFFIAnyViewToOwnedAny(&view, &out) != 0);
  CHECK(raised_is("InternalError", "RValueRef already moved"));
  TVMFFIObjectDecRef(again.v_obj);
  DLTensor tensor = {0};
  view = (TVMFFIAny){.type_index = kTVMFFIDLTensorPtr, .v_ptr = &tensor};
  CHECK(TVMFFIAnyViewToOwnedAny(&view, &out) != 0);
  CHECK(raised_is("RuntimeError", "Cannot hold a DLTensor*"));
  CHECK(tn_tvm_live_objects() == before);
}

TEST(tvm_the_version_is_the_one_that_kernels_expect) {
  TVMFFIVersion version;
  TVMFFIGetVersion(&version);
  CHECK(version.major == 0 && version.minor == 1);
}
