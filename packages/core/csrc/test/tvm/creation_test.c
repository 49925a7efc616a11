/* Objects that are created through their registered fields. */
#include <stddef.h>

#include "support.h"

/* Numbers of a type, of its child, and a field of the child that native code sets. */
typedef struct {
  TVMFFIObject head;
  int64_t a, b, c, child, unset;
} numbers_t;

static int32_t parent_index, child_index;

static void delete_numbers(void *self, int flags) {
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) free(self);
}

static int create_numbers(int32_t type_index, TVMFFIObjectHandle *out) {
  numbers_t *made = calloc(1, sizeof *made);
  made->head = (TVMFFIObject){
      .combined_ref_count = 1 | (uint64_t)1 << 32, .type_index = type_index, .deleter = delete_numbers};
  made->unset = 77;
  *out = made;
  return 0;
}

static int create_parent(TVMFFIObjectHandle *out) { return create_numbers(parent_index, out); }
static int create_child(TVMFFIObjectHandle *out) { return create_numbers(child_index, out); }

static int get_number(void *field, TVMFFIAny *result) {
  *result = (TVMFFIAny){.type_index = kTVMFFIInt, .v_int64 = *(int64_t *)field};
  return 0;
}

static int set_number(void *field, const TVMFFIAny *value) {
  if (value->type_index != kTVMFFIInt) {
    TVMFFIErrorSetRaisedFromCStr("TypeError", "not a number\nat all");
    return -1;
  }
  *(int64_t *)field = value->v_int64;
  return 0;
}

static int make_nine(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  (void)self, (void)args, (void)num_args;
  *result = (TVMFFIAny){.type_index = kTVMFFIInt, .v_int64 = 9};
  return 0;
}

static void add_number(int32_t type, const char *name, size_t offset, int64_t flags, TVMFFIAny initial) {
  const TVMFFIFieldInfo field = {
      .name = span_of(name), .flags = flags, .size = 8, .alignment = 8, .offset = (int64_t)offset, .getter = get_number,
      .setter = (void *)(uintptr_t)set_number, .default_value_or_factory = initial, .field_static_type_index = kTVMFFIInt};
  REQUIRE(TVMFFITypeRegisterField(type, &field) == 0);
}

static int32_t add_type(const char *key, int32_t parent, int32_t depth, TVMFFIObjectCreator creator) {
  const TVMFFIByteArray span = span_of(key);
  const TVMFFITypeMetadata metadata = {.creator = creator, .total_size = sizeof(numbers_t)};
  const int32_t index = TVMFFITypeGetOrAllocIndex(&span, -1, depth, 0, 1, parent);
  REQUIRE(TVMFFITypeRegisterMetadata(index, &metadata) == 0);
  return index;
}

static TVMFFIAny object_of(TVMFFIObjectHandle handle) {
  return (TVMFFIAny){.type_index = ((TVMFFIObject *)handle)->type_index, .v_obj = handle};
}

static void register_numbers(void) {
  if (parent_index != 0) return;
  TVMFFIAny result;
  TVMFFIObjectHandle factory;
  REQUIRE(TVMFFIFunctionCreate(NULL, make_nine, NULL, &factory) == 0);
  parent_index = add_type("test.c.Numbers", kTVMFFIObject, 1, create_parent);
  add_number(parent_index, "b", offsetof(numbers_t, b), kTVMFFIFieldFlagBitMaskHasDefault, int_value(2));
  add_number(parent_index, "a", offsetof(numbers_t, a), 0, int_value(0));
  child_index = add_type("test.c.NumbersChild", parent_index, 2, create_child);
  add_number(child_index, "child", offsetof(numbers_t, child), 0, int_value(0));
  add_number(child_index, "c", offsetof(numbers_t, c),
             kTVMFFIFieldFlagBitMaskKwOnly | kTVMFFIFieldFlagBitMaskHasDefault |
                 kTVMFFIFieldFlagBitMaskDefaultFromFactory,
             object_of(factory));
  add_number(child_index, "unset", offsetof(numbers_t, unset), kTVMFFIFieldFlagBitMaskInitOff, int_value(0));
  TVMFFIObjectDecRef(factory);
  for (int32_t index = parent_index; index <= child_index; index++) {
    TVMFFIAny argument = int_value(index);
    REQUIRE(call_global("ffi._RegisterFFIInit", &argument, 1, &result) == 0);
  }
}

static int construct(int32_t type, TVMFFIAny *args, int32_t count, numbers_t *out) {
  const TVMFFIByteArray name = span_of("__ffi_init__");
  const TVMFFITypeAttrColumn *column = TVMFFIGetTypeAttrColumn(&name);
  TVMFFIAny result = {.type_index = kTVMFFINone};
  REQUIRE(type < column->size && column->data[type].type_index == kTVMFFIFunction);
  const int status = TVMFFIFunctionCall(column->data[type].v_obj, args, count, &result);
  if (status != 0) return status;
  REQUIRE(result.type_index == type);
  *out = *(numbers_t *)(void *)result.v_obj;
  TVMFFIObjectDecRef(result.v_obj);
  return 0;
}

static TVMFFIAny kwargs(void) {
  TVMFFIAny result;
  REQUIRE(call_global("ffi.GetKwargsObject", NULL, 0, &result) == 0);
  TVMFFIObjectDecRef(result.v_obj);
  return result;
}

TEST(tvm_an_initializer_sets_required_fields_before_those_with_a_default) {
  register_numbers();
  numbers_t made;
  CHECK(construct(parent_index, (TVMFFIAny[]){int_value(10)}, 1, &made) == 0);
  CHECK(made.a == 10 && made.b == 2);
  CHECK(construct(parent_index, (TVMFFIAny[]){int_value(10), int_value(20)}, 2, &made) == 0);
  CHECK(made.a == 10 && made.b == 20);
}

TEST(tvm_an_initializer_takes_the_fields_of_ancestors_and_keyword_arguments) {
  register_numbers();
  numbers_t made;
  CHECK(construct(child_index, (TVMFFIAny[]){int_value(1), int_value(2), int_value(3)}, 3, &made) == 0);
  CHECK(made.a == 1 && made.child == 2 && made.b == 3 && made.c == 9 && made.unset == 77);
  TVMFFIAny args[] = {int_value(1), kwargs(), text_value("c"), int_value(4), text_value("child"), int_value(5)};
  CHECK(construct(child_index, args, 6, &made) == 0);
  CHECK(made.a == 1 && made.b == 2 && made.c == 4 && made.child == 5);
}

TEST(tvm_an_initializer_names_what_is_wrong_with_its_arguments) {
  register_numbers();
  numbers_t made;
  TVMFFIAny none = kwargs();
  TVMFFIAny many[] = {int_value(1), int_value(2), int_value(3), int_value(4)};
  CHECK(construct(child_index, many, 4, &made) != 0);
  CHECK(raised_is("TypeError", "test.c.NumbersChild.__ffi_init__() takes at most 3 positional argument(s), but 4 were given"));
  CHECK(construct(parent_index, NULL, 0, &made) != 0);
  CHECK(raised_is("TypeError", "test.c.Numbers.__ffi_init__() missing required argument: 'a'"));
  TVMFFIAny odd[] = {int_value(1), none, text_value("b")};
  CHECK(construct(parent_index, odd, 3, &made) != 0);
  CHECK(raised_is("TypeError", "test.c.Numbers.__ffi_init__() KWARGS requires an even number of key-value arguments"));
  TVMFFIAny twice[] = {int_value(1), none, text_value("a"), int_value(2)};
  CHECK(construct(parent_index, twice, 4, &made) != 0);
  CHECK(raised_is("TypeError", "test.c.Numbers.__ffi_init__() got multiple values for argument 'a'"));
  TVMFFIAny unknown[] = {int_value(1), none, text_value("z"), int_value(2)};
  CHECK(construct(parent_index, unknown, 4, &made) != 0);
  CHECK(raised_is("TypeError", "test.c.Numbers.__ffi_init__() got an unexpected keyword argument 'z'"));
  TVMFFIAny off[] = {int_value(1), int_value(1), none, text_value("unset"), int_value(2)};
  CHECK(construct(child_index, off, 5, &made) != 0);
  CHECK(raised_is("TypeError", "test.c.NumbersChild.__ffi_init__() got an unexpected keyword argument 'unset'"));
  TVMFFIAny unnamed[] = {none, int_value(1), int_value(2)};
  CHECK(construct(parent_index, unnamed, 3, &made) != 0);
  CHECK(raised_is("TypeError", "test.c.Numbers.__ffi_init__() keywords must be of type `str`, got `int`"));
}

TEST(tvm_an_initializer_wraps_the_error_of_a_setter) {
  register_numbers();
  numbers_t made;
  TVMFFIAny wrong[] = {text_value("x")};
  TVMFFIObjectHandle error = NULL;
  CHECK(construct(parent_index, wrong, 1, &made) != 0);
  TVMFFIErrorMoveFromRaised(&error);
  const TVMFFIErrorCell *cell = TVMFFIErrorGetCellPtr(error);
  const char *expected = "test.c.Numbers.__ffi_init__() field 'a':\n  not a number\n  at all";
  CHECK(cell->message.size == strlen(expected) && memcmp(cell->message.data, expected, strlen(expected)) == 0);
  CHECK(cell->kind.size == 9 && memcmp(cell->kind.data, "TypeError", 9) == 0);
  CHECK(cell->cause_chain != NULL);
  TVMFFIObjectDecRef(error);
}

TEST(tvm_an_initializer_of_a_type_that_does_not_exist_is_refused) {
  const int64_t indices[] = {-1, 65535, 65536, INT64_MAX};
  for (int i = 0; i < 4; i++) {
    TVMFFIAny argument = int_value(indices[i]), result;
    CHECK(call_global("ffi._RegisterFFIInit", &argument, 1, &result) != 0);
    CHECK(raised_is("InternalError", "Cannot find type info for type_index="));
  }
}

TEST(tvm_objects_are_made_from_names_and_values) {
  register_numbers();
  TVMFFIAny result;
  TVMFFIAny args[] = {text_value("test.c.NumbersChild"), text_value("child"), int_value(7), text_value("a"), int_value(8), text_value("unset"), int_value(1)};
  CHECK(call_global("ffi.MakeObjectFromPackedArgs", args, 7, &result) == 0);
  const numbers_t *made = (const numbers_t *)(void *)result.v_obj;
  CHECK(made->child == 7 && made->a == 8 && made->b == 2 && made->c == 9 && made->unset == 1);
  TVMFFIObjectDecRef(result.v_obj);
  TVMFFIAny missing[] = {int_value(parent_index), text_value("b"), int_value(1)};
  CHECK(call_global("ffi.MakeObjectFromPackedArgs", missing, 3, &result) != 0);
  CHECK(raised_is("TypeError", "Required field `a` not set in type `test.c.Numbers`"));
  TVMFFIAny unknown[] = {int_value(parent_index), text_value("a"), int_value(1), text_value("z"), int_value(2)};
  CHECK(call_global("ffi.MakeObjectFromPackedArgs", unknown, 5, &result) != 0);
  CHECK(raised_is("TypeError", "Type `test.c.Numbers` does not have field `z`"));
  TVMFFIAny abstract[] = {text_value("ffi.Module")};
  CHECK(call_global("ffi.MakeObjectFromPackedArgs", abstract, 1, &result) != 0);
  CHECK(raised_is("RuntimeError", "Type `ffi.Module` does not support reflection creation"));
  CHECK(call_global("ffi.MakeObjectFromPackedArgs", NULL, 0, &result) != 0);
  CHECK(raised_is("InternalError", "ffi.MakeObjectFromPackedArgs must have a type"));
}

static TVMFFIAny get_field(TVMFFIObject *object, const char *key, const char *name) {
  const TVMFFIByteArray span = span_of(key);
  TVMFFIAny value = {.type_index = kTVMFFINone};
  int32_t index = 0;
  REQUIRE(TVMFFITypeKeyToIndex(&span, &index) == 0);
  const TVMFFITypeInfo *info = TVMFFIGetTypeInfo(index);
  for (int32_t i = 0; i < info->num_fields; i++)
    if (strncmp(info->fields[i].name.data, name, info->fields[i].name.size) == 0)
      REQUIRE(info->fields[i].getter((char *)object + info->fields[i].offset, &value) == 0);
  return value;
}

TEST(tvm_enumerations_have_their_fields_and_are_created) {
  const int64_t before = tn_tvm_live_objects();
  TVMFFIAny result;
  TVMFFIAny args[] = {text_value("ffi.StrEnum"), text_value("_str_index"), text_value("longer than seven"), text_value("_int_index"), int_value(3),
                      text_value("value"), text_value("longer than seven")};
  CHECK(call_global("ffi.MakeObjectFromPackedArgs", args, 7, &result) == 0);
  TVMFFIAny value = get_field(result.v_obj, "ffi.StrEnum", "value");
  CHECK(value.type_index == kTVMFFIStr && TVMFFIBytesGetByteArrayPtr(value.v_obj)->size == 17);
  TVMFFIObjectDecRef(value.v_obj);
  CHECK(get_field(result.v_obj, "ffi.Enum", "_int_index").v_int64 == 3);
  TVMFFIObjectDecRef(result.v_obj);
  args[2] = int_value(1);
  CHECK(call_global("ffi.MakeObjectFromPackedArgs", args, 7, &result) != 0);
  CHECK(raised_is("TypeError", "Cannot convert from type `int` to `str`"));
  const TVMFFIByteArray name = span_of("__ffi_init__"), key = span_of("ffi.EnumState");
  int32_t state = 0;
  CHECK(TVMFFITypeKeyToIndex(&key, &state) == 0);
  result = (TVMFFIAny){.type_index = kTVMFFINone};
  CHECK(TVMFFIFunctionCall(TVMFFIGetTypeAttrColumn(&name)->data[state].v_obj, NULL, 0, &result) == 0);
  value = get_field(result.v_obj, "ffi.EnumState", "entries");
  CHECK(value.type_index == kTVMFFIList);
  TVMFFIObjectDecRef(value.v_obj);
  TVMFFIObjectDecRef(result.v_obj);
  CHECK(tn_tvm_live_objects() == before);
}

/* The object that __ffi_new__ of the next test returns, whose type is `type_of_new`. */
static int32_t type_of_new;

static int make_new(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  (void)self, (void)args;
  TVMFFIObjectHandle made;
  if (num_args != 0 || create_numbers(type_of_new, &made) != 0) return -1;
  *result = object_of(made);
  return 0;
}

static int refuse_new(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  (void)self, (void)args, (void)num_args, (void)result;
  TVMFFIErrorSetRaisedFromCStr("ValueError", "no more of them");
  return -1;
}

/* The setter of a field as a packed function: it gets the address of the field and the value. */
static int set_doubled(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  (void)self, (void)result;
  if (num_args != 2 || args[0].type_index != kTVMFFIOpaquePtr) return -1;
  *(int64_t *)args[0].v_ptr = 2 * args[1].v_int64;
  return 0;
}

/* A type without a native creator, such as one that Python defines. */
static int32_t add_type_with_new(const char *key, TVMFFISafeCallType function) {
  const TVMFFIByteArray name = span_of("__ffi_new__");
  const int32_t type = add_type(key, kTVMFFIObject, 1, NULL);
  TVMFFIObjectHandle made;
  REQUIRE(TVMFFIFunctionCreate(NULL, function, NULL, &made) == 0);
  const TVMFFIAny value = object_of(made);
  REQUIRE(TVMFFITypeRegisterAttr(type, &name, &value) == 0);
  TVMFFIObjectDecRef(made);
  return type;
}

TEST(tvm_a_type_without_a_creator_is_created_by_its_function) {
  TVMFFIAny result;
  const int32_t type = add_type_with_new("test.c.New", make_new), other = add_type("test.c.Other", kTVMFFIObject, 1, NULL);
  TVMFFIAny args[] = {int_value(type)};
  type_of_new = type;
  CHECK(call_global("ffi.MakeObjectFromPackedArgs", args, 1, &result) == 0);
  CHECK(result.type_index == type && ((const numbers_t *)(void *)result.v_obj)->unset == 77);
  TVMFFIObjectDecRef(result.v_obj);
  type_of_new = other;
  CHECK(call_global("ffi.MakeObjectFromPackedArgs", args, 1, &result) != 0);
  CHECK(raised_is("TypeError", "`test.c.New.__ffi_new__` must return a `test.c.New`, got `test.c.Other`"));
  args[0] = int_value(add_type_with_new("test.c.Refused", refuse_new));
  CHECK(call_global("ffi.MakeObjectFromPackedArgs", args, 1, &result) != 0);
  CHECK(raised_is("ValueError", "no more of them"));
}

TEST(tvm_a_field_is_set_by_a_packed_function_and_needs_a_setter) {
  TVMFFIAny result;
  TVMFFIObjectHandle setter;
  const int32_t type = add_type_with_new("test.c.Doubled", make_new);
  REQUIRE(TVMFFIFunctionCreate(NULL, set_doubled, NULL, &setter) == 0);
  TVMFFIFieldInfo field = {
      .name = span_of("a"), .flags = kTVMFFIFieldFlagBitSetterIsFunctionObj, .size = 8, .alignment = 8,
      .offset = offsetof(numbers_t, a), .getter = get_number, .setter = setter, .field_static_type_index = kTVMFFIInt};
  REQUIRE(TVMFFITypeRegisterField(type, &field) == 0);
  type_of_new = type;
  TVMFFIAny args[] = {int_value(type), text_value("a"), int_value(21), text_value("b"), int_value(1)};
  CHECK(call_global("ffi.MakeObjectFromPackedArgs", args, 3, &result) == 0);
  CHECK(((const numbers_t *)(void *)result.v_obj)->a == 42);
  TVMFFIObjectDecRef(result.v_obj);
  field = (TVMFFIFieldInfo){.name = span_of("b"), .size = 8, .alignment = 8, .offset = offsetof(numbers_t, b),
                            .getter = get_number, .field_static_type_index = kTVMFFIInt};
  REQUIRE(TVMFFITypeRegisterField(type, &field) == 0);
  CHECK(call_global("ffi.MakeObjectFromPackedArgs", args, 5, &result) != 0);
  CHECK(raised_is("AttributeError", "the field `b` has no setter"));
}
