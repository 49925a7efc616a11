/* Keys of maps whose types say when two objects are equal. */
#include <stdbool.h>
#include <stdlib.h>

#include "support.h"

typedef struct {
  TVMFFIObject head;
  int64_t value;
} point_t;

static void delete_key(void *self, int flags) {
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) free(self);
}

static TVMFFIAny make_key(int32_t type, int64_t value) {
  point_t *made = calloc(1, sizeof *made);
  REQUIRE(made != NULL);
  made->head =
      (TVMFFIObject){.combined_ref_count = 1 | (uint64_t)1 << 32, .type_index = type, .deleter = delete_key};
  made->value = value;
  return (TVMFFIAny){.type_index = type, .v_obj = &made->head};
}

static int64_t value_of(const TVMFFIAny *key) { return ((point_t *)(void *)key->v_obj)->value; }

/* The sign of a value does not matter. */
static bool are_equal(const TVMFFIAny *a, const TVMFFIAny *b) { return llabs(value_of(a)) == llabs(value_of(b)); }
static int64_t hash_of(const TVMFFIAny *key) { return llabs(value_of(key)); }

static int call_equal(void *self, const TVMFFIAny *args, int32_t count, TVMFFIAny *result) {
  (void)self;
  if (count != 2) return -1;
  *result = (TVMFFIAny){.type_index = kTVMFFIBool, .v_int64 = are_equal(&args[0], &args[1])};
  return 0;
}

static int call_hash(void *self, const TVMFFIAny *args, int32_t count, TVMFFIAny *result) {
  (void)self;
  if (count != 1) return -1;
  *result = int_value(hash_of(&args[0]));
  return 0;
}

static int fail(void *self, const TVMFFIAny *args, int32_t count, TVMFFIAny *result) {
  (void)self, (void)args, (void)count, (void)result;
  TVMFFIErrorSetRaisedFromCStr("ValueError", "cannot be compared");
  return -1;
}

static int32_t add_type(const char *name) {
  const TVMFFIByteArray span = span_of(name);
  const TVMFFITypeMetadata metadata = {.total_size = sizeof(point_t)};
  const int32_t index = TVMFFITypeGetOrAllocIndex(&span, -1, 1, 0, 1, kTVMFFIObject);
  REQUIRE(TVMFFITypeRegisterMetadata(index, &metadata) == 0);
  return index;
}

static void add_hook(int32_t type, const char *name, TVMFFIAny value) {
  const TVMFFIByteArray span = span_of(name);
  REQUIRE(TVMFFITypeRegisterAttr(type, &span, &value) == 0);
}

static void add_function(int32_t type, const char *name, TVMFFISafeCallType function) {
  TVMFFIObjectHandle made;
  REQUIRE(TVMFFIFunctionCreate(NULL, function, NULL, &made) == 0);
  add_hook(type, name, (TVMFFIAny){.type_index = kTVMFFIFunction, .v_obj = made});
  TVMFFIObjectDecRef(made);
}

static TVMFFIAny pointer_to(void (*function)(void)) {
  return (TVMFFIAny){.type_index = kTVMFFIOpaquePtr, .v_ptr = (void *)(uintptr_t)function};
}

/* The number that a Dict with the key 3 and the number 30 has for another object with a value, or -1. */
static int64_t look_up(int32_t type, int64_t value) {
  TVMFFIAny dict, result, set[3] = {{0}, make_key(type, 3), int_value(30)}, get[2] = {{0}, make_key(type, value)};
  REQUIRE(call_global("ffi.Dict", NULL, 0, &dict) == 0);
  set[0] = get[0] = dict;
  REQUIRE(call_global("ffi.DictSetItem", set, 3, &result) == 0);
  const int64_t found = call_global("ffi.DictGetItem", get, 2, &result) == 0 ? result.v_int64 : -1;
  if (found < 0) REQUIRE(raised_is("KeyError", ""));
  TVMFFIObjectHandle left = NULL;
  TVMFFIErrorMoveFromRaised(&left);
  REQUIRE(left == NULL);
  TVMFFIObjectDecRef(set[1].v_obj);
  TVMFFIObjectDecRef(get[1].v_obj);
  TVMFFIObjectDecRef(dict.v_obj);
  return found;
}

TEST(tvm_keys_without_hooks_are_equal_only_to_themselves) {
  const int32_t type = add_type("test.c.PlainKey");
  CHECK(look_up(type, 3) == -1);
}

TEST(tvm_keys_are_compared_by_the_native_functions_of_their_type) {
  const int32_t type = add_type("test.c.NativeKey");
  add_hook(type, "__any_equal__", pointer_to((void (*)(void))are_equal));
  add_hook(type, "__any_hash__", pointer_to((void (*)(void))hash_of));
  CHECK(look_up(type, 3) == 30);
  CHECK(look_up(type, -3) == 30);
  CHECK(look_up(type, 4) == -1);
}

TEST(tvm_keys_are_compared_by_the_packed_functions_of_their_type) {
  const int32_t type = add_type("test.c.PackedKey");
  add_function(type, "__any_equal__", call_equal);
  add_function(type, "__any_hash__", call_hash);
  CHECK(look_up(type, 3) == 30);
  CHECK(look_up(type, -3) == 30);
  CHECK(look_up(type, 4) == -1);
}

TEST(tvm_keys_whose_comparison_fails_differ_and_leave_no_error) {
  const int32_t type = add_type("test.c.FailingKey");
  add_function(type, "__any_equal__", fail);
  add_function(type, "__any_hash__", fail);
  CHECK(look_up(type, 3) == -1);
}

TEST(tvm_hooks_that_are_not_functions_are_ignored) {
  const int32_t type = add_type("test.c.OddKey");
  add_hook(type, "__any_equal__", int_value(1));
  add_hook(type, "__any_hash__", int_value(1));
  CHECK(look_up(type, 3) == -1);
}
