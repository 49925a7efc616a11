/* The fields, methods, metadata and attributes of types. Read without a lock, so replaced arrays are kept. */
#include <stdlib.h>

#include "type.h"

static int unknown_type(int32_t type_index) {
  return tn__raise("InternalError", "Cannot find type info for type_index=%d", type_index);
}

/* Replaces a span by a permanent copy; an empty span becomes null. */
static bool keep_text(TVMFFIByteArray *text) {
  text->data = text->size == 0 ? NULL : tn__duplicate(*text);
  return text->size == 0 || text->data != NULL;
}

/* An array with room for the element at `index`: the given one of `count` elements, or a larger copy. Null without
 * memory. Readers may still use a replaced array, so it is kept: its address lies before the larger copy. */
static void *grown(const void *array, int32_t count, int32_t index, int32_t *capacity, size_t element_size) {
  if (index < *capacity) return (void *)(uintptr_t)array;
  int32_t larger_capacity = *capacity == 0 ? 4 : *capacity;
  while (larger_capacity <= index) larger_capacity *= 2;
  const void **block = malloc(sizeof *block + (size_t)larger_capacity * element_size);
  if (block == NULL) return NULL;
  *block = array;
  const size_t used = (size_t)count * element_size;
  if (used > 0) memcpy(block + 1, array, used);
  memset((char *)(block + 1) + used, 0, (size_t)larger_capacity * element_size - used);
  *capacity = larger_capacity;
  return block + 1;
}

static bool has_field(const TVMFFITypeInfo *info, TVMFFIByteArray name) {
  for (int32_t i = 0; i < info->num_fields; i++)
    if (tn__same(info->fields[i].name, name)) return true;
  return false;
}

static int add_field(tn__type_t *type, const void *field_info) {
  const TVMFFIFieldInfo *info = field_info;
  const int32_t count = type->info.num_fields;
  if (has_field(&type->info, info->name))
    return tn__raise("InternalError", "Duplicate field name \"%.*s\" in type \"%s\"", (int)info->name.size,
                     info->name.data, type->info.type_key.data);
  TVMFFIFieldInfo field = *info;
  if (!keep_text(&field.name) || !keep_text(&field.doc) || !keep_text(&field.metadata)) return tn__no_memory();
  TVMFFIAny *initial = &field.default_value_or_factory;
  if (!(info->flags & kTVMFFIFieldFlagBitMaskHasDefault)) *initial = tn__none();
  if (TVMFFIAnyViewToOwnedAny(initial, initial) != 0) return -1;
  if ((info->flags & kTVMFFIFieldFlagBitSetterIsFunctionObj) && info->setter != NULL) tn__retain(info->setter);
  TVMFFIFieldInfo *fields = grown(type->info.fields, count, count, &type->field_capacity, sizeof field);
  if (fields == NULL) return tn__no_memory();
  fields[count] = field;
  __atomic_store_n(&type->info.fields, fields, __ATOMIC_RELEASE);
  __atomic_store_n(&type->info.num_fields, count + 1, __ATOMIC_RELEASE);
  return 0;
}

static int add_method(tn__type_t *type, const void *method_info) {
  const int32_t count = type->info.num_methods;
  TVMFFIMethodInfo method = *(const TVMFFIMethodInfo *)method_info;
  if (!keep_text(&method.name) || !keep_text(&method.doc) || !keep_text(&method.metadata)) return tn__no_memory();
  if (TVMFFIAnyViewToOwnedAny(&method.method, &method.method) != 0) return -1;
  TVMFFIMethodInfo *methods = grown(type->info.methods, count, count, &type->method_capacity, sizeof method);
  if (methods == NULL) return tn__no_memory();
  methods[count] = method;
  __atomic_store_n(&type->info.methods, methods, __ATOMIC_RELEASE);
  __atomic_store_n(&type->info.num_methods, count + 1, __ATOMIC_RELEASE);
  return 0;
}

/* Changes a type under the lock. */
static int change(int32_t type_index, int (*add)(tn__type_t *type, const void *info), const void *info) {
  tn__type_t *type = tn__type_entry(type_index);
  if (type == NULL) return unknown_type(type_index);
  tn__lock(&tn__type_lock);
  int status = add(type, info);
  tn__unlock(&tn__type_lock);
  return status;
}

int TVMFFITypeRegisterField(int32_t type_index, const TVMFFIFieldInfo *info) {
  return change(type_index, add_field, info);
}

int TVMFFITypeRegisterMethod(int32_t type_index, const TVMFFIMethodInfo *info) {
  return change(type_index, add_method, info);
}

int TVMFFITypeRegisterMetadata(int32_t type_index, const TVMFFITypeMetadata *metadata) {
  tn__type_t *type = tn__type_entry(type_index);
  if (type == NULL) return unknown_type(type_index);
  TVMFFITypeMetadata kept = *metadata;
  if (!keep_text(&kept.doc)) return tn__no_memory();
  tn__lock(&tn__type_lock);
  bool taken = type->info.metadata != NULL;
  if (!taken) {
    type->metadata = kept;
    __atomic_store_n(&type->info.metadata, &type->metadata, __ATOMIC_RELEASE);
  }
  tn__unlock(&tn__type_lock);
  if (!taken) return 0;
  free((void *)(uintptr_t)kept.doc.data);
  return tn__raise("RuntimeError", "Overriding %s: another type with the same key is already registered",
                   type->info.type_key.data);
}

/* --- attributes: each name has a column of values by type index --------------------------------------------------- */

typedef struct {
  TVMFFITypeAttrColumn column;
  int32_t capacity;
} column_t;

static tn__names_t columns;

static column_t *column_of(TVMFFIByteArray name) {
  void **place = tn__names_add(&columns, name);
  if (place != NULL && *place == NULL) *place = calloc(1, sizeof(column_t));
  return place == NULL ? NULL : *place;
}

static int add_attr(int32_t type_index, TVMFFIByteArray name, const TVMFFIAny *value) {
  column_t *own = column_of(name);
  if (own == NULL) return tn__no_memory();
  /* Index 0 only creates the column. */
  if (type_index == kTVMFFINone) return 0;
  TVMFFITypeAttrColumn *column = &own->column;
  if (type_index < column->size && column->data[type_index].type_index != kTVMFFINone)
    return tn__raise("RuntimeError", "TypeAttr `%.*s` is already registered for type index %d", (int)name.size,
                     name.data, type_index);
  TVMFFIAny kept;
  if (TVMFFIAnyViewToOwnedAny(value, &kept) != 0) return -1;
  TVMFFIAny *data = grown(column->data, column->size, type_index, &own->capacity, sizeof *data);
  if (data == NULL) {
    tn__clear(&kept);
    return tn__no_memory();
  }
  data[type_index] = kept;
  __atomic_store_n(&column->data, data, __ATOMIC_RELEASE);
  if (type_index >= column->size) __atomic_store_n(&column->size, type_index + 1, __ATOMIC_RELEASE);
  return 0;
}

int TVMFFITypeRegisterAttr(int32_t type_index, const TVMFFIByteArray *attr_name, const TVMFFIAny *value) {
  if (tn__type_entry(type_index) == NULL) return unknown_type(type_index);
  tn__lock(&tn__type_lock);
  int status = add_attr(type_index, *attr_name, value);
  tn__unlock(&tn__type_lock);
  return status;
}

const TVMFFITypeAttrColumn *TVMFFIGetTypeAttrColumn(const TVMFFIByteArray *attr_name) {
  tn__lock(&tn__type_lock);
  const column_t *found = tn__names_get(&columns, *attr_name);
  tn__unlock(&tn__type_lock);
  return found == NULL ? NULL : &found->column;
}
