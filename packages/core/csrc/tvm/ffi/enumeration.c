/* The types of enumerations, in the layout of tvm-ffi's C++ code, which derives other types from them. */
#include "enumeration.h"
#include "object.h"

typedef struct {
  TVMFFIObject head;
  int64_t number;
  TVMFFIAny name; /* a string */
} enumeration_t;

/* The values of an enumeration type, their indexes, and their attributes. */
typedef struct {
  TVMFFIObject head;
  void *entries; /* a List, retained */
  void *indexes; /* a Dict, retained */
  void *columns; /* a Dict, retained */
} state_t;

_Static_assert(sizeof(void *) != 8 || sizeof(enumeration_t) == 48, "the layout of enumerations is part of the ABI");
_Static_assert(sizeof(void *) != 8 || sizeof(state_t) == 48, "the layout of their states is part of the ABI");

/* The indices of the types, which are allocated when the library is loaded. */
static int32_t state_index, enum_index, int_enum_index, str_enum_index;

/* --- creation --------------------------------------------------------------------------------------------------- */

static void enumeration_destroy(enumeration_t *self) { tn__clear(&self->name); }
TN_DELETER(enumeration_deleter, enumeration_destroy)

static int create(int32_t type_index, TVMFFIObjectHandle *out) {
  enumeration_t *made = tn__object_new(sizeof *made, type_index, enumeration_deleter);
  if (made == NULL) return tn__no_memory();
  *out = made;
  return tn__text("", 0, &made->name);
}

static int create_enum(TVMFFIObjectHandle *out) { return create(enum_index, out); }
static int create_int_enum(TVMFFIObjectHandle *out) { return create(int_enum_index, out); }
static int create_str_enum(TVMFFIObjectHandle *out) { return create(str_enum_index, out); }

static void state_destroy(state_t *self) {
  tn__release(self->entries);
  tn__release(self->indexes);
  tn__release(self->columns);
}
TN_DELETER(state_deleter, state_destroy)

static int create_state(TVMFFIObjectHandle *out) {
  state_t *state = tn__object_new(sizeof *state, state_index, state_deleter);
  TVMFFIAny entries;
  if (state == NULL) return tn__no_memory();
  if (tn__sequence_make(kTVMFFIList, NULL, 0, &entries) == 0) {
    state->entries = entries.v_obj;
    state->indexes = tn__map_new(kTVMFFIDict, 0);
    state->columns = tn__map_new(kTVMFFIDict, 0);
    if (state->indexes != NULL && state->columns != NULL) {
      *out = state;
      return 0;
    }
    tn__no_memory();
  }
  tn__release(state);
  return -1;
}

static int initialize_state(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  const tn__call_t call = {"ffi.EnumState.__ffi_init__", args, num_args, 0, result};
  TVMFFIObjectHandle state = NULL;
  (void)self;
  if (tn__expect_count(&call, 0) != 0 || create_state(&state) != 0) return -1;
  return tn__give(&call, tn__object(state));
}

/* --- fields ----------------------------------------------------------------------------------------------------- */

static int mismatch(const char *expected, const TVMFFIAny *value) {
  return tn__raise("TypeError", "Cannot convert from type `%s` to `%s`", tn__type_name(value->type_index), expected);
}

static int get_number(void *field, TVMFFIAny *result) {
  *result = tn__int(*(const int64_t *)field);
  return 0;
}

static int set_number(void *field, const TVMFFIAny *value) {
  if (value->type_index != kTVMFFIInt && value->type_index != kTVMFFIBool) return mismatch("int", value);
  *(int64_t *)field = value->v_int64;
  return 0;
}

static int get_name(void *field, TVMFFIAny *result) {
  *result = tn__copy(field);
  return 0;
}

static int set_name(void *field, const TVMFFIAny *value) {
  TVMFFIByteArray text;
  TVMFFIAny name, old = *(const TVMFFIAny *)field;
  if (!tn__text_of(value, false, &text)) return mismatch("str", value);
  if (tn__text(text.data, text.size, &name) != 0) return -1;
  *(TVMFFIAny *)field = name;
  tn__clear(&old);
  return 0;
}

static int get_object(void *field, TVMFFIAny *result) {
  TVMFFIObject *object = *(TVMFFIObject **)field;
  *result = tn__none();
  if (object == NULL) return 0;
  tn__retain(object);
  *result = tn__object(object);
  return 0;
}

static int set_object(void *field, const TVMFFIAny *value, int32_t type_index) {
  TVMFFIObject **place = field, *old = *place;
  if (value->type_index != type_index) return mismatch(tn__type_name(type_index), value);
  tn__retain(value->v_obj);
  *place = value->v_obj;
  tn__release(old);
  return 0;
}

static int set_list(void *field, const TVMFFIAny *value) { return set_object(field, value, kTVMFFIList); }
static int set_dict(void *field, const TVMFFIAny *value) { return set_object(field, value, kTVMFFIDict); }

#define SCHEMA(json) "{\"type_schema\":\"" json "\"}"
#define INT_SCHEMA SCHEMA("{\\\"type\\\":\\\"int\\\"}")
#define STR_SCHEMA SCHEMA("{\\\"type\\\":\\\"ffi.String\\\"}")
#define OBJECT "{\\\"type\\\":\\\"ffi.Object\\\"}"
#define ANY "{\\\"type\\\":\\\"Any\\\"}"
#define LIST_OF(item) "{\\\"type\\\":\\\"ffi.List\\\",\\\"args\\\":[" item "]}"
#define DICT_OF(key, value) "{\\\"type\\\":\\\"ffi.Dict\\\",\\\"args\\\":[" key "," value "]}"

static const int64_t IGNORED = kTVMFFIFieldFlagBitMaskSEqHashIgnore, UNSET = kTVMFFIFieldFlagBitMaskInitOff;

static void add_field(int32_t type, const char *name, const char *doc, const char *schema, int64_t flags, size_t offset,
                      TVMFFIFieldGetter get, int (*set)(void *field, const TVMFFIAny *value)) {
  const bool is_number = get == get_number, is_name = get == get_name;
  const TVMFFIFieldInfo field = {
      .name = tn__span(name),
      .doc = tn__span(doc),
      .metadata = tn__span(schema),
      .flags = flags,
      .size = is_name ? sizeof(TVMFFIAny) : is_number ? sizeof(int64_t) : sizeof(void *),
      .alignment = is_name || is_number ? _Alignof(int64_t) : _Alignof(void *),
      .offset = (int64_t)offset,
      .getter = get,
      .setter = (void *)(uintptr_t)set,
      .field_static_type_index = is_number ? kTVMFFIInt : is_name ? -1 : set == set_list ? kTVMFFIList : kTVMFFIObject,
  };
  TVMFFITypeRegisterField(type, &field);
}

static int32_t add_type(const char *key, int32_t parent, size_t size, TVMFFIObjectCreator creator, int32_t equality) {
  const TVMFFIByteArray span = tn__span(key);
  const TVMFFITypeMetadata metadata = {
      .creator = creator, .total_size = (int32_t)size, .structural_eq_hash_kind = equality};
  const int32_t depth = tn_tvm_find_type(parent)->type_depth + 1;
  const int32_t index = TVMFFITypeGetOrAllocIndex(&span, -1, depth, 0, 1, parent);
  TVMFFITypeRegisterMetadata(index, &metadata);
  return index;
}

static void register_state_init(void) {
  static const TVMFFIByteArray name = {"__ffi_init__", 12};
  TVMFFIObjectHandle function = NULL;
  if (TVMFFIFunctionCreate(NULL, initialize_state, NULL, &function) != 0) return;
  const TVMFFIAny value = tn__object(function);
  const TVMFFIMethodInfo method = {
      .name = name,
      .metadata = tn__span(SCHEMA("{\\\"type\\\":\\\"ffi.Function\\\",\\\"args\\\":[" OBJECT "]}")),
      .flags = kTVMFFIFieldFlagBitMaskIsStaticMethod,
      .method = value,
  };
  TVMFFITypeRegisterMethod(state_index, &method);
  TVMFFITypeRegisterAttr(state_index, &name, &value);
  tn__release(function);
}

void tn__register_enumerations(void) {
  const size_t number = offsetof(enumeration_t, number), name = offsetof(enumeration_t, name);
  state_index = add_type("ffi.EnumState", kTVMFFIObject, sizeof(state_t), create_state, 0);
  add_field(state_index, "entries", "The values in the order of registration.", SCHEMA(LIST_OF(OBJECT)), UNSET,
            offsetof(state_t, entries), get_object, set_list);
  add_field(state_index, "indexes", "The values by their number and by their name.",
            SCHEMA(DICT_OF(ANY, OBJECT)), UNSET, offsetof(state_t, indexes), get_object, set_dict);
  add_field(state_index, "attrs", "Further attributes: for each name, a value by enumeration value.",
            SCHEMA(DICT_OF("{\\\"type\\\":\\\"ffi.String\\\"}", DICT_OF(OBJECT, ANY))), UNSET,
            offsetof(state_t, columns), get_object, set_dict);
  register_state_init();
  enum_index = add_type("ffi.Enum", kTVMFFIObject, sizeof(enumeration_t), create_enum, TN_EQUAL_IF_SAME);
  add_field(enum_index, "_int_index", "The number of the value.", INT_SCHEMA, IGNORED, number, get_number, set_number);
  add_field(enum_index, "_str_index", "The name of the value.", STR_SCHEMA, 0, name, get_name, set_name);
  int_enum_index = add_type("ffi.IntEnum", enum_index, sizeof(enumeration_t), create_int_enum, TN_EQUAL_IF_SAME);
  add_field(int_enum_index, "value", "The number of the value.", INT_SCHEMA, IGNORED | UNSET, number, get_number,
            set_number);
  str_enum_index = add_type("ffi.StrEnum", enum_index, sizeof(enumeration_t), create_str_enum, TN_EQUAL_IF_SAME);
  add_field(str_enum_index, "value", "The name of the value.", STR_SCHEMA, IGNORED | UNSET, name, get_name, set_name);
}
