/* Types that are registered when the library is loaded, as C++ code registers its classes: with constructors, fields,
 * methods, and the mistakes and surprising names that a library can have. All objects have one struct. */
#include <stdlib.h>
#include <string.h>

#include "ffi.h"

typedef struct {
  TVMFFIObject head;
  int64_t number;
  double real;
  TVMFFIAny any; /* owned */
} object_t;

enum { POINT, POINT3, RECORD, NODE, CUSTOM, HOSTILE, GROWING, BARE, BOX, TYPES };

static int32_t indices[TYPES];
static int64_t live;

static TVMFFIByteArray span(const char *text) { return (TVMFFIByteArray){text, text == NULL ? 0 : strlen(text)}; }

/* --- objects ------------------------------------------------------------------------------------------------------ */

static void clear(TVMFFIAny *value) {
  if (value->type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(value->v_obj);
  *value = (TVMFFIAny){.type_index = kTVMFFINone};
}

static void destroy(void *self, int flags) {
  if ((flags & kTVMFFIObjectDeleterFlagBitMaskStrong) != 0) {
    clear(&((object_t *)self)->any);
    __atomic_sub_fetch(&live, 1, __ATOMIC_RELAXED);
  }
  if ((flags & kTVMFFIObjectDeleterFlagBitMaskWeak) != 0) free(self);
}

static object_t *make(int type) {
  object_t *object = calloc(1, sizeof *object);
  if (object == NULL) abort();
  object->head.combined_ref_count = 1 | (uint64_t)1 << 32;
  object->head.type_index = indices[type];
  object->head.deleter = destroy;
  __atomic_add_fetch(&live, 1, __ATOMIC_RELAXED);
  return object;
}

static int give(TVMFFIAny *result, object_t *object) {
  *result = (TVMFFIAny){.type_index = object->head.type_index, .v_obj = &object->head};
  return 0;
}

static object_t *self_of(const TVMFFIAny *args) { return (object_t *)(void *)args[0].v_obj; }

/* --- fields ------------------------------------------------------------------------------------------------------- */

static int get_number(void *field, TVMFFIAny *result) { return give_int(result, *(int64_t *)field); }

static int set_number(void *field, const TVMFFIAny *value) {
  if (value->type_index != kTVMFFIInt) return fail("TypeError", "the field takes an int");
  *(int64_t *)field = value->v_int64;
  return 0;
}

static int get_real(void *field, TVMFFIAny *result) {
  *result = (TVMFFIAny){.type_index = kTVMFFIFloat, .v_float64 = *(double *)field};
  return 0;
}

static int set_real(void *field, const TVMFFIAny *value) {
  if (value->type_index == kTVMFFIInt) *(double *)field = (double)value->v_int64;
  else if (value->type_index == kTVMFFIFloat) *(double *)field = value->v_float64;
  else return fail("TypeError", "the field takes a number");
  return 0;
}

static int get_any(void *field, TVMFFIAny *result) { return TVMFFIAnyViewToOwnedAny(field, result); }

static int set_any(void *field, const TVMFFIAny *value) {
  TVMFFIAny owned;
  if (TVMFFIAnyViewToOwnedAny(value, &owned) != 0) return -1;
  TVMFFIAny old = *(TVMFFIAny *)field;
  *(TVMFFIAny *)field = owned;
  clear(&old);
  return 0;
}

static int get_failing(void *field, TVMFFIAny *result) {
  (void)field, (void)result;
  return fail("KeyError", "this field cannot be read");
}

/* The setter of a field whose setter is a function object: called with the field's address and the value. */
static int set_by_object(PARAMETERS) {
  if (num_args != 2 || args[0].type_index != kTVMFFIOpaquePtr) return fail("TypeError", "(address, value)");
  if (set_number(args[0].v_ptr, &args[1]) != 0) return -1;
  *(int64_t *)args[0].v_ptr += 1000;
  return 0;
}

/* --- constructors ------------------------------------------------------------------------------------------------- */

/* fixture.Point(x, y = 0.5) */
static int init_point(PARAMETERS) {
  if (num_args < 1 || num_args > 2 || args[0].type_index != kTVMFFIInt)
    return fail("TypeError", "Expected (int, float) when calling: `fixture.Point.__ffi_init__`");
  object_t *object = make(POINT);
  object->number = args[0].v_int64;
  object->real = 0.5;
  if (num_args == 2 && set_real(&object->real, &args[1]) != 0) {
    TVMFFIObjectDecRef(object);
    return -1;
  }
  return give(result, object);
}

/* fixture.Box(x, y, z): counts its arguments, as C++ does, and stores whether the last two are None. */
static int init_box(PARAMETERS) {
  if (num_args != 3) return fail("TypeError", "Expected 3 arguments when calling: `fixture.Box.__ffi_init__`");
  object_t *object = make(BOX);
  object->number = args[1].type_index == kTVMFFINone && args[2].type_index == kTVMFFINone;
  return give(result, object);
}

/* Returns something that is not an object of the type. */
static int init_wrong(PARAMETERS) { return give_int(result, 7); }

static TVMFFIObjectHandle kwargs_object(void) {
  const TVMFFIByteArray name = span("ffi.GetKwargsObject");
  TVMFFIObjectHandle function = NULL;
  TVMFFIAny value = {.type_index = kTVMFFINone};
  if (TVMFFIFunctionGetGlobal(&name, &function) != 0 || function == NULL) abort();
  if (TVMFFIFunctionCall(function, NULL, 0, &value) != 0) abort();
  TVMFFIObjectDecRef(function);
  TVMFFIObjectDecRef(value.v_obj); /* the library holds it for ever */
  return value.v_obj;
}

static int text_is(const TVMFFIAny *value, const char *text) {
  TVMFFIByteArray found;
  if (value->type_index == kTVMFFIRawStr) found = span(value->v_c_str);
  else if (value->type_index == kTVMFFISmallStr) found = (TVMFFIByteArray){value->v_bytes, value->small_str_len};
  else if (value->type_index == kTVMFFIStr) found = *TVMFFIBytesGetByteArrayPtr(value->v_obj);
  else return 0;
  return found.size == strlen(text) && memcmp(found.data, text, found.size) == 0;
}

/* fixture.Record and fixture.Node: fields in order, or names and values behind the mark for them */
static int init_fields(PARAMETERS) {
  object_t *object = make((int)(intptr_t)self);
  const TVMFFIObjectHandle mark = kwargs_object();
  int status = 0, names = 0;
  for (int32_t i = 0; status == 0 && i < num_args; i++) {
    if (args[i].type_index == kTVMFFIObject && args[i].v_obj == mark) {
      names = 1;
      continue;
    }
    const TVMFFIAny *value = &args[names ? i + 1 : i];
    if (names ? text_is(&args[i], "number") : i == 0) status = set_number(&object->number, value);
    else if (names ? text_is(&args[i], "any") : i == 1) status = set_any(&object->any, value);
    else status = fail("TypeError", "fixture.Record.__ffi_init__() got an unexpected keyword argument");
    if (names) i++;
  }
  if (status == 0) return give(result, object);
  TVMFFIObjectDecRef(object);
  return status;
}

/* --- methods ------------------------------------------------------------------------------------------------------ */

static int add_x(PARAMETERS) {
  if (num_args != 2 || args[1].type_index != kTVMFFIInt)
    return fail("TypeError", "Mismatched type on argument #1 when calling: `fixture.Point.add_x`");
  self_of(args)->number += args[1].v_int64;
  return give_int(result, self_of(args)->number);
}

static int count_args(PARAMETERS) { return give_int(result, num_args); }

static int to_string(PARAMETERS) {
  return self_of(args)->number == 13 ? fail("ValueError", "no text for 13") : give_string(result, "a point", 7);
}

static int from_number(PARAMETERS) {
  object_t *object = make(POINT);
  object->number = num_args == 1 ? args[0].v_int64 : -1;
  return give(result, object);
}

static int three(PARAMETERS) {
  object_t *object = make(POINT3);
  object->number = 3;
  return give(result, object);
}

static int call_global(const char *name, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  const TVMFFIByteArray text = span(name);
  TVMFFIObjectHandle function = NULL;
  if (TVMFFIFunctionGetGlobal(&text, &function) != 0 || function == NULL) return fail("RuntimeError", name);
  const int status = TVMFFIFunctionCall(function, (TVMFFIAny *)(uintptr_t)args, num_args, result);
  TVMFFIObjectDecRef(function);
  return status;
}

/* [[1, 2]]: arrays in an array */
static int make_arrays(PARAMETERS) {
  const TVMFFIAny numbers[] = {{.type_index = kTVMFFIInt, .v_int64 = 1}, {.type_index = kTVMFFIInt, .v_int64 = 2}};
  TVMFFIAny inner = {.type_index = kTVMFFINone};
  if (call_global("ffi.Array", numbers, 2, &inner) != 0) return -1;
  const int status = call_global("ffi.Array", &inner, 1, result);
  clear(&inner);
  return status;
}

/* { 1: 2 } */
static int make_map(PARAMETERS) {
  const TVMFFIAny entry[] = {{.type_index = kTVMFFIInt, .v_int64 = 1}, {.type_index = kTVMFFIInt, .v_int64 = 2}};
  return call_global("ffi.Map", entry, 2, result);
}

static int make_list(PARAMETERS) { return call_global("ffi.List", args + 1, num_args - 1, result); }

static int raise_key_error(PARAMETERS) { return fail("KeyError", "raised by a method"); }

static int call_back(PARAMETERS) { return TVMFFIFunctionCall(args[1].v_obj, NULL, 0, result); }

/* __ffi_repr__(self, fn_repr): "<custom ANY>" */
static int custom_repr(PARAMETERS) {
  TVMFFIAny text = {.type_index = kTVMFFINone};
  TVMFFIAny view = self_of(args)->any;
  if (TVMFFIFunctionCall(args[1].v_obj, &view, 1, &text) != 0) return -1;
  char out[256] = "<custom ";
  const TVMFFIByteArray part = text.type_index == kTVMFFISmallStr
                                   ? (TVMFFIByteArray){text.v_bytes, text.small_str_len}
                                   : *TVMFFIBytesGetByteArrayPtr(text.v_obj);
  strncat(out, part.data, part.size < 200 ? part.size : 200);
  strcat(out, ">");
  clear(&text);
  return give_string(result, out, strlen(out));
}

/* --- registration ------------------------------------------------------------------------------------------------- */

static void check(int status) {
  if (status != 0) abort();
}

static int32_t add_type(const char *name, int parent) {
  const TVMFFIByteArray key = span(name);
  const int32_t parent_index = parent < 0 ? kTVMFFIObject : indices[parent];
  return TVMFFITypeGetOrAllocIndex(&key, -1, parent < 0 ? 1 : 2, 0, 1, parent_index);
}

static TVMFFIAny function(TVMFFISafeCallType run, int type) {
  TVMFFIObjectHandle made = NULL;
  check(TVMFFIFunctionCreate((void *)(intptr_t)type, run, NULL, &made));
  return (TVMFFIAny){.type_index = kTVMFFIFunction, .v_obj = made};
}

/* The metadata of a member with a type schema, or none. */
static const char *metadata_of(const char *schema) {
  static char text[512];
  if (schema == NULL) return NULL;
  char *at = text + strlen(strcpy(text, "{\"type_schema\":\""));
  for (; *schema != '\0'; schema++) {
    if (*schema == '\'') *at++ = '\\';
    *at++ = *schema == '\'' ? '"' : *schema;
  }
  strcpy(at, "\"}");
  return text;
}

/* A schema is written with ' for ". */
static void add_method(int type, const char *name, TVMFFISafeCallType run, int is_static, const char *schema) {
  TVMFFIAny method = function(run, type);
  const TVMFFIMethodInfo info = {
      .name = span(name),
      .doc = span("A method of the fixture."),
      .metadata = span(metadata_of(schema)),
      .flags = is_static ? kTVMFFIFieldFlagBitMaskIsStaticMethod : 0,
      .method = method,
  };
  check(TVMFFITypeRegisterMethod(indices[type], &info));
  clear(&method);
}

typedef enum { NUMBER, REAL, ANY, FAILING, BY_OBJECT } kind_t;

static void add_field(int type, const char *name, kind_t kind, int64_t flags, const char *schema) {
  static const TVMFFIFieldGetter getters[] = {get_number, get_real, get_any, get_failing, get_number};
  static int (*const setters[])(void *, const TVMFFIAny *) = {set_number, set_real, set_any, set_number, NULL};
  const size_t offsets[] = {offsetof(object_t, number), offsetof(object_t, real), offsetof(object_t, any),
                            offsetof(object_t, number), offsetof(object_t, number)};
  TVMFFIAny setter = {.type_index = kTVMFFINone};
  if (kind == BY_OBJECT) setter = function(set_by_object, type);
  const TVMFFIFieldInfo info = {
      .name = span(name),
      .doc = span("A field of the fixture."),
      .metadata = span(metadata_of(schema)),
      .flags = flags | (kind == BY_OBJECT ? kTVMFFIFieldFlagBitSetterIsFunctionObj : 0),
      .size = 8,
      .alignment = 8,
      .offset = (int64_t)offsets[kind],
      .getter = getters[kind],
      .setter = kind == BY_OBJECT ? (void *)setter.v_obj : (void *)(uintptr_t)setters[kind],
      .default_value_or_factory = {.type_index = kTVMFFIInt, .v_int64 = 42},
      .field_static_type_index = -1,
  };
  check(TVMFFITypeRegisterField(indices[type], &info));
  clear(&setter);
}

static void add_attribute(int type, const char *name, TVMFFISafeCallType run) {
  const TVMFFIByteArray text = span(name);
  TVMFFIAny value = function(run, type);
  check(TVMFFITypeRegisterAttr(indices[type], &text, &value));
  clear(&value);
}

static void describe(int type) {
  const TVMFFITypeMetadata metadata = {.doc = span("A type of the fixture."), .total_size = (int32_t)sizeof(object_t)};
  check(TVMFFITypeRegisterMetadata(indices[type], &metadata));
}

static int count_live(PARAMETERS) { return give_int(result, __atomic_load_n(&live, __ATOMIC_RELAXED)); }

static int make_any(PARAMETERS) { return give(result, make((int)args[0].v_int64)); }

/* Gives fixture.Growing a field and a method. */
static int grow(PARAMETERS) {
  static int count;
  static char field[] = "late_field_0", method[] = "late_method_0";
  field[sizeof field - 2] = method[sizeof method - 2] = (char)('0' + count++);
  add_field(GROWING, field, NUMBER, kTVMFFIFieldFlagBitMaskWritable, "{'type':'int'}");
  add_method(GROWING, method, count_args, 0, NULL);
  return 0;
}

static void add_global(const char *name, TVMFFISafeCallType run, const char *schema) {
  TVMFFIAny value = function(run, 0);
  const TVMFFIMethodInfo info = {
      .name = span(name),
      .doc = span("A function of the fixture."),
      .metadata = span(metadata_of(schema)),
      .method = value,
  };
  check(TVMFFIFunctionSetGlobalFromMethodInfo(&info, 1));
  clear(&value);
}

#define WRITABLE kTVMFFIFieldFlagBitMaskWritable
#define HAS_DEFAULT kTVMFFIFieldFlagBitMaskHasDefault
#define INT "{'type':'int'}"
#define METHOD(result, rest) "{'type':'ffi.Function','args':[" result ",{'type':'fixture.Point'}" rest "]}"
#define OPTIONAL "{'type':'Optional','args':[" INT "]}"
#define ARRAYS "{'type':'ffi.Array','args':[{'type':'ffi.Array','args':[" INT "]}]}"

__attribute__((constructor)) static void register_all(void) {
  static const struct {
    const char *key;
    int parent;
  } keys[TYPES] = {
      {"fixture.Point", -1}, {"fixture.Point3", POINT},   {"fixture.Record", -1}, {"fixture.Node", RECORD},
      {"fixture.Custom", RECORD}, {"fixture.Hostile", -1}, {"fixture.Growing", -1}, {"fixture.deep.Bare-1<int>", -1},
      {"fixture.Box", -1},
  };
  for (int i = 0; i < TYPES; i++) indices[i] = add_type(keys[i].key, keys[i].parent);

  describe(POINT);
  add_field(POINT, "x", NUMBER, WRITABLE | HAS_DEFAULT, INT);
  add_field(POINT, "y", REAL, 0, "{'type':'float'}");
  add_field(POINT, "hidden_tag", BY_OBJECT, WRITABLE | kTVMFFIFieldFlagBitMaskReprOff, INT);
  add_method(POINT, "__ffi_init__", init_point, 1, "{'type':'ffi.Function','args':[{'type':'fixture.Point'}," INT "]}");
  add_method(POINT, "add_x", add_x, 0, METHOD(INT, "," INT));
  add_method(POINT, "count_args", count_args, 0, NULL);
  add_method(POINT, "count_args", raise_key_error, 0, NULL);
  add_method(POINT, "to_string", to_string, 0, METHOD("{'type':'ffi.String'}", ""));
  add_method(POINT, "from_number", from_number, 1, NULL);
  add_method(POINT, "three", three, 1, NULL);
  add_method(POINT, "raise", raise_key_error, 0, NULL);
  add_method(POINT, "call_back", call_back, 0, NULL);
  add_method(POINT, "count_all", count_args, 1, NULL);
  add_method(POINT3, "only_three", count_args, 0, NULL);
  add_method(POINT3, "count_args", add_x, 0, NULL);

  add_field(RECORD, "number", NUMBER, WRITABLE | HAS_DEFAULT, INT);
  add_field(RECORD, "any", ANY, WRITABLE, "{'type':'Any'}");
  add_attribute(RECORD, "__ffi_init__", init_fields);
  add_attribute(NODE, "__ffi_init__", init_fields);
  add_attribute(CUSTOM, "__ffi_init__", init_fields);
  add_attribute(CUSTOM, "__ffi_repr__", custom_repr);

  static const char *const fields[] = {"then", "constructor", "__proto__", "handle", "pointer", "tag", "typeIndex", "$handle", "close"};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) add_field(HOSTILE, fields[i], NUMBER, WRITABLE, INT);
  add_field(HOSTILE, "fails", FAILING, WRITABLE, INT);
  add_field(HOSTILE, "a_b", NUMBER, 0, INT);
  add_field(HOSTILE, "aB", ANY, 0, NULL);
  add_field(HOSTILE, "_lead_ing_", NUMBER, 0, "this is not JSON");
  static const char *const statics[] = {"name", "length", "prototype", "method", "typeKey", "then"};
  for (size_t i = 0; i < sizeof statics / sizeof *statics; i++) add_method(HOSTILE, statics[i], count_args, 1, NULL);
  add_method(HOSTILE, "toString", raise_key_error, 0, NULL);
  add_method(HOSTILE, "valueOf", raise_key_error, 0, NULL);
  add_method(HOSTILE, "__ffi_init__", init_wrong, 1, NULL);

  add_field(BOX, "is_short", NUMBER, 0, INT);
  add_method(BOX, "__ffi_init__", init_box, 1, "{'type':'ffi.Function','args':[{'type':'fixture.Box'}," INT "," OPTIONAL "," OPTIONAL "]}");
  add_method(BOX, "arrays", make_arrays, 0, METHOD(ARRAYS, ""));
  add_method(BOX, "plain_arrays", make_arrays, 0, NULL);
  add_method(BOX, "map", make_map, 0, METHOD("{'type':'ffi.Map','args':[" INT "," INT "]}", ""));
  add_method(BOX, "list", make_list, 0, METHOD("{'type':'ffi.List','args':[" INT "]}", ""));
  add_method(BOX, "maybe", make_arrays, 0, METHOD("{'type':'Optional','args':[" ARRAYS "]}", ""));
  add_method(BOX, "not_an_array", make_list, 0, METHOD(ARRAYS, ""));
  add_method(BOX, "fixed", make_arrays, 1, "{'type':'ffi.Function','args':[" ARRAYS "]}");

  add_global("fixture.live", count_live, "{'type':'ffi.Function','args':[" INT "]}");
  add_global("fixture.make", make_any, NULL);
  add_global("fixture.grow", grow, NULL);
}
