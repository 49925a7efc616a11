/* Objects that are created through their registered fields: the initializers of types, and
 * ffi.MakeObjectFromPackedArgs. */
#include <stdlib.h>

#include "internal.h"

typedef int (*field_setter_t)(void *field, const TVMFFIAny *value);

/* The attribute of exactly this type, or None if the type does not define it. */
static TVMFFIAny attribute_of(const TVMFFITypeInfo *type, TVMFFIByteArray name) {
  const TVMFFITypeAttrColumn *place = TVMFFIGetTypeAttrColumn(&name);
  if (place == NULL) return tn__none();
  const int32_t size = __atomic_load_n(&place->size, __ATOMIC_ACQUIRE);
  const TVMFFIAny *data = __atomic_load_n(&place->data, __ATOMIC_ACQUIRE);
  return type->type_index < size ? data[type->type_index] : tn__none();
}

/* Creates an object that has no fields set. 0, or -1 with an error raised. */
static int create(const TVMFFITypeInfo *type, TVMFFIObject **out) {
  const TVMFFITypeMetadata *metadata = __atomic_load_n(&type->metadata, __ATOMIC_ACQUIRE);
  if (metadata != NULL && metadata->creator != NULL) {
    TVMFFIObjectHandle object = NULL;
    const int status = metadata->creator(&object);
    *out = object;
    return status;
  }
  const TVMFFIAny function = attribute_of(type, TN_SPAN("__ffi_new__"));
  if (function.type_index != kTVMFFIFunction)
    return tn__raise("RuntimeError",
                     "Type `%s` does not support reflection creation (no native creator or __ffi_new__ type attr)",
                     type->type_key.data);
  TVMFFIAny made = tn__none();
  if (TVMFFIFunctionCall(function.v_obj, NULL, 0, &made) != 0) return -1;
  *out = made.v_obj;
  if (made.type_index == type->type_index) return 0;
  const char *key = tn__type_name(made.type_index);
  tn__clear(&made);
  return tn__raise("TypeError", "`%s.__ffi_new__` must return a `%s`, got `%s`", type->type_key.data,
                   type->type_key.data, key);
}

/* Sets a field of an object to a borrowed value. 0, or -1 with an error raised. */
static int set_field(const TVMFFIFieldInfo *field, TVMFFIObject *object, const TVMFFIAny *value) {
  void *place = (char *)object + field->offset;
  if (field->setter == NULL)
    return tn__raise("AttributeError", "the field `%s` has no setter", field->name.data);
  if ((field->flags & kTVMFFIFieldFlagBitSetterIsFunctionObj) == 0)
    return ((field_setter_t)(uintptr_t)field->setter)(place, value);
  TVMFFIAny values[] = {{.type_index = kTVMFFIOpaquePtr, .v_ptr = place}, *value}, result = tn__none();
  const int status = TVMFFIFunctionCall(field->setter, values, 2, &result);
  if (status == 0) tn__clear(&result);
  return status;
}

static int set_default(const TVMFFIFieldInfo *field, TVMFFIObject *object) {
  const TVMFFIAny *value = &field->default_value_or_factory;
  if ((field->flags & kTVMFFIFieldFlagBitMaskDefaultFromFactory) == 0) return set_field(field, object, value);
  if (value->type_index != kTVMFFIFunction)
    return tn__raise("TypeError", "the default of the field `%s` must be a function, got `%s`", field->name.data,
                     tn__type_name(value->type_index));
  TVMFFIAny made = tn__none();
  if (TVMFFIFunctionCall(value->v_obj, NULL, 0, &made) != 0) return -1;
  const int status = set_field(field, object, &made);
  tn__clear(&made);
  return status;
}

static bool has(const TVMFFIFieldInfo *field, int64_t flag) { return (field->flags & flag) != 0; }

/* --- the fields of a type: those of its ancestors first, without the root --------------------------------------- */

/* Copies the fields to `fields` if it is not null, at most `capacity`. Returns their number. */
static int32_t copy_fields(const TVMFFITypeInfo *type, TVMFFIFieldInfo *fields, int32_t capacity) {
  int32_t count = 0;
  for (int32_t depth = 1; depth <= type->type_depth; depth++) {
    const TVMFFITypeInfo *info = depth < type->type_depth ? type->type_ancestors[depth] : type;
    const int32_t own = __atomic_load_n(&info->num_fields, __ATOMIC_ACQUIRE);
    const TVMFFIFieldInfo *from = __atomic_load_n(&info->fields, __ATOMIC_ACQUIRE);
    for (int32_t i = 0; i < own && count < capacity; i++, count++)
      if (fields != NULL) fields[count] = from[i];
  }
  return count;
}

/* --- initializers: the attribute `__ffi_init__` of types without a constructor of their own ---------------------- */

/* The fields as they were when the initializer was created. Their names and defaults belong to the type. */
typedef struct {
  const TVMFFITypeInfo *type;
  int32_t count, positional_count;
  int32_t *positional; /* the indices of the fields that positional arguments set; it follows the fields */
  TVMFFIFieldInfo fields[];
} initializer_t;

static initializer_t *make_initializer(const TVMFFITypeInfo *type) {
  const int32_t count = copy_fields(type, NULL, INT32_MAX);
  const size_t size = (size_t)count * (sizeof(TVMFFIFieldInfo) + sizeof(int32_t));
  initializer_t *initializer = calloc(1, sizeof *initializer + size);
  if (initializer == NULL) return NULL;
  initializer->type = type;
  initializer->count = copy_fields(type, initializer->fields, count);
  initializer->positional = (int32_t *)(void *)(initializer->fields + count);
  for (int defaults = 0; defaults < 2; defaults++) {
    for (int32_t i = 0; i < initializer->count; i++) {
      const TVMFFIFieldInfo *field = &initializer->fields[i];
      if (has(field, kTVMFFIFieldFlagBitMaskInitOff) || has(field, kTVMFFIFieldFlagBitMaskKwOnly)) continue;
      if (has(field, kTVMFFIFieldFlagBitMaskHasDefault) == defaults)
        initializer->positional[initializer->positional_count++] = i;
    }
  }
  return initializer;
}

/* The message with its lines indented, behind the name of the field; null without memory. The caller frees it. */
static char *nested_message(const char *key, const TVMFFIFieldInfo *field, TVMFFIByteArray message) {
  const char *const parts[] = {key, ".__ffi_init__() field '", field->name.data, "':\n  "};
  size_t size = 1 + message.size;
  for (size_t i = 0; i < 4; i++) size += strlen(parts[i]);
  for (size_t i = 0; i < message.size; i++) size += message.data[i] == '\n' ? 2 : 0;
  char *text = malloc(size), *at = text;
  if (text == NULL) return NULL;
  for (size_t i = 0; i < 4; at += strlen(parts[i]), i++) memcpy(at, parts[i], strlen(parts[i]));
  for (size_t i = 0; i < message.size; i++) {
    *at++ = message.data[i];
    if (message.data[i] == '\n') *at++ = ' ', *at++ = ' ';
  }
  *at = '\0';
  return text;
}

/* Replaces the raised error of a setter by one that names the field and has it as its cause. Returns -1. */
static int name_field(const char *key, const TVMFFIFieldInfo *field) {
  TVMFFIObjectHandle cause = NULL, error = NULL;
  TVMFFIErrorMoveFromRaised(&cause);
  if (cause == NULL)
    return tn__raise("RuntimeError", "%s.__ffi_init__() field '%s': its setter failed", key, field->name.data);
  const TVMFFIErrorCell *cell = TVMFFIErrorGetCellPtr(cause);
  char *text = nested_message(key, field, cell->message);
  const TVMFFIByteArray message = {text, text == NULL ? 0 : strlen(text)};
  if (text == NULL ||
      TVMFFIErrorCreateWithCauseAndExtraContext(&cell->kind, &message, &cell->backtrace, cause, NULL, &error) != 0)
    tn__no_memory();
  else
    TVMFFIErrorSetRaised(error);
  free(text);
  tn__release(error);
  tn__release(cause);
  return -1;
}

/* A call of an initializer. */
typedef struct {
  const initializer_t *initializer;
  const char *key; /* of the type */
  TVMFFIObject *object;
  bool *is_set; /* of each field */
} binding_t;

static int bind_field(const binding_t *binding, int32_t index, const TVMFFIAny *value) {
  const TVMFFIFieldInfo *field = &binding->initializer->fields[index];
  if (set_field(field, binding->object, value) != 0) return name_field(binding->key, field);
  binding->is_set[index] = true;
  return 0;
}

/* Sets the field that a keyword argument names. */
static int bind_keyword(const binding_t *binding, const TVMFFIAny *pair) {
  const initializer_t *initializer = binding->initializer;
  TVMFFIByteArray name;
  if (!tn__text_of(&pair[0], false, &name))
    return tn__raise("TypeError", "%s.__ffi_init__() keywords must be of type `str`, got `%s`", binding->key,
                     tn__type_name(pair[0].type_index));
  for (int32_t i = 0; i < initializer->count; i++) {
    const TVMFFIFieldInfo *field = &initializer->fields[i];
    if (has(field, kTVMFFIFieldFlagBitMaskInitOff) || !tn__same(field->name, name)) continue;
    if (!binding->is_set[i]) return bind_field(binding, i, &pair[1]);
    return tn__raise("TypeError", "%s.__ffi_init__() got multiple values for argument '%s'", binding->key,
                     field->name.data);
  }
  return tn__raise("TypeError", "%s.__ffi_init__() got an unexpected keyword argument '%.*s'", binding->key,
                   (int)name.size, name.data);
}

static int bind_arguments(const binding_t *binding, const TVMFFIAny *args, int32_t num_args) {
  const initializer_t *initializer = binding->initializer;
  int32_t positional = 0;
  while (positional < num_args && !tn__is_kwargs(&args[positional])) positional++;
  if (positional > initializer->positional_count)
    return tn__raise("TypeError", "%s.__ffi_init__() takes at most %d positional argument(s), but %d were given",
                     binding->key, initializer->positional_count, positional);
  if (positional < num_args && (num_args - positional) % 2 == 0)
    return tn__raise("TypeError", "%s.__ffi_init__() KWARGS requires an even number of key-value arguments",
                     binding->key);
  for (int32_t i = 0; i < positional; i++)
    if (bind_field(binding, initializer->positional[i], &args[i]) != 0) return -1;
  for (int32_t i = positional + 1; i < num_args; i += 2)
    if (bind_keyword(binding, &args[i]) != 0) return -1;
  return 0;
}

/* Sets the fields without an argument to their defaults. */
static int bind_defaults(const binding_t *binding) {
  for (int32_t i = 0; i < binding->initializer->count; i++) {
    const TVMFFIFieldInfo *field = &binding->initializer->fields[i];
    if (binding->is_set[i]) continue;
    if (has(field, kTVMFFIFieldFlagBitMaskHasDefault)) {
      if (set_default(field, binding->object) != 0) return -1;
    } else if (!has(field, kTVMFFIFieldFlagBitMaskInitOff)) {
      const char *sort = has(field, kTVMFFIFieldFlagBitMaskKwOnly) ? "keyword-only argument" : "argument";
      return tn__raise("TypeError", "%s.__ffi_init__() missing required %s: '%s'", binding->key, sort,
                       field->name.data);
    }
  }
  return 0;
}

static int initialize(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  const initializer_t *initializer = self;
  binding_t binding = {.initializer = initializer, .key = initializer->type->type_key.data};
  if (create(initializer->type, &binding.object) != 0) return -1;
  binding.is_set = calloc((size_t)initializer->count + 1, sizeof *binding.is_set);
  int status = binding.is_set == NULL ? tn__no_memory() : bind_arguments(&binding, args, num_args);
  if (status == 0) status = bind_defaults(&binding);
  free(binding.is_set);
  if (status == 0)
    *result = tn__object(binding.object);
  else
    tn__release(binding.object);
  return status;
}

/* The type with an index, or null with an error raised. */
static const TVMFFITypeInfo *type_at(int64_t index) {
  const TVMFFITypeInfo *type = index < 0 || index >= TN_TYPE_LIMIT ? NULL : tn_tvm_find_type((int32_t)index);
  if (type == NULL) tn__raise("InternalError", "Cannot find type info for type_index=%lld", (long long)index);
  return type;
}

/* ffi._RegisterFFIInit(type_index): C++ code calls it when it has registered the fields of a type */
static int register_initializer(const tn__call_t *call) {
  static const TVMFFIByteArray name = {"__ffi_init__", 12};
  int64_t index;
  if (tn__argument_int(call, 0, &index) != 0) return -1;
  const TVMFFITypeInfo *type = type_at(index);
  if (type == NULL) return -1;
  initializer_t *initializer = make_initializer(type);
  TVMFFIObjectHandle function = NULL;
  if (initializer == NULL) return tn__no_memory();
  if (TVMFFIFunctionCreate(initializer, initialize, free, &function) != 0) {
    free(initializer);
    return -1;
  }
  const TVMFFIAny value = tn__object(function);
  const int status = TVMFFITypeRegisterAttr(type->type_index, &name, &value);
  tn__release(function);
  return status;
}

/* --- ffi.MakeObjectFromPackedArgs(type, name, value, ...) -------------------------------------------------------- */

/* Sets a field to the value behind its name among the arguments, which are marked as used, or to its default. */
static int set_from_pairs(const tn__call_t *call, const TVMFFITypeInfo *type, const TVMFFIFieldInfo *field,
                          TVMFFIObject *object, bool *is_used) {
  for (int32_t i = 1; i < call->num_args; i += 2) {
    TVMFFIByteArray name;
    if (is_used[i]) continue;
    if (tn__argument_text(call, i, &name) != 0) return -1;
    if (!tn__same(name, field->name)) continue;
    is_used[i] = true;
    return set_field(field, object, &call->args[i + 1]);
  }
  if (has(field, kTVMFFIFieldFlagBitMaskHasDefault)) return set_default(field, object);
  return tn__raise("TypeError", "Required field `%s` not set in type `%s`", field->name.data, type->type_key.data);
}

static int set_all_from_pairs(const tn__call_t *call, const TVMFFITypeInfo *type, TVMFFIObject *object) {
  const int32_t capacity = copy_fields(type, NULL, INT32_MAX);
  TVMFFIFieldInfo *fields = calloc((size_t)capacity + 1, sizeof *fields);
  bool *is_used = calloc((size_t)call->num_args, sizeof *is_used);
  int status = fields == NULL || is_used == NULL ? tn__no_memory() : 0;
  const int32_t count = status == 0 ? copy_fields(type, fields, capacity) : 0;
  for (int32_t i = 0; status == 0 && i < count; i++) status = set_from_pairs(call, type, &fields[i], object, is_used);
  for (int32_t i = 1; status == 0 && i < call->num_args; i += 2) {
    TVMFFIByteArray name;
    if (is_used[i]) continue;
    status = tn__argument_text(call, i, &name);
    if (status == 0)
      status = tn__raise("TypeError", "Type `%s` does not have field `%.*s`", type->type_key.data, (int)name.size,
                         name.data);
  }
  free(fields);
  free(is_used);
  return status;
}

static int make_object(const tn__call_t *call) {
  TVMFFIByteArray key;
  int32_t index;
  int64_t number;
  if (call->num_args % 2 == 0)
    return tn__raise("InternalError", "%s must have a type and a value for each name, got %d arguments", call->name,
                     call->num_args);
  if (tn__text_of(&call->args[0], false, &key)) {
    if (TVMFFITypeKeyToIndex(&key, &index) != 0) return -1;
    number = index;
  } else if (tn__argument_int(call, 0, &number) != 0) {
    return -1;
  }
  const TVMFFITypeInfo *type = type_at(number);
  TVMFFIObject *object;
  if (type == NULL || create(type, &object) != 0) return -1;
  if (set_all_from_pairs(call, type, object) == 0) return tn__give(call, tn__object(object));
  tn__release(object);
  return -1;
}

const tn__builtin_t tn__creation_builtins[] = {
    {"ffi._RegisterFFIInit", register_initializer, 1, 0},
    {"ffi.MakeObjectFromPackedArgs", make_object, TN_ANY_COUNT, 0},
    {.name = NULL},
};
