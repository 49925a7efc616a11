/* The fields, methods, metadata and attributes of types. Read without a lock, so replaced arrays are kept. */
#include <stdlib.h>

#include "type.h"

static int unknown_type(int32_t type_index) {
  return tn__raise("InternalError", "Cannot find type info for type_index=%d", type_index);
}

/* The outcome of a change under the lock, where nothing is raised: the error that it replaces may have a destructor. */
typedef enum { ADDED, TAKEN, NO_MEMORY } added_t;

/* Replaces a span by a permanent copy; an empty span becomes null. */
static bool keep_text(TVMFFIByteArray *text) {
  text->data = text->size == 0 ? NULL : tn__duplicate(*text);
  return text->size == 0 || text->data != NULL;
}

static bool keep_texts(TVMFFIByteArray *name, TVMFFIByteArray *doc, TVMFFIByteArray *metadata) {
  const bool are_kept[] = {keep_text(name), keep_text(doc), keep_text(metadata)};
  return are_kept[0] && are_kept[1] && are_kept[2];
}

static void drop_text(TVMFFIByteArray text) { free((void *)(uintptr_t)text.data); }

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

static added_t add_field(tn__type_t *type, const TVMFFIFieldInfo *field) {
  const int32_t count = type->info.num_fields;
  if (has_field(&type->info, field->name)) return TAKEN;
  TVMFFIFieldInfo *fields = grown(type->info.fields, count, count, &type->field_capacity, sizeof *field);
  if (fields == NULL) return NO_MEMORY;
  fields[count] = *field;
  __atomic_store_n(&type->info.fields, fields, __ATOMIC_RELEASE);
  __atomic_store_n(&type->info.num_fields, count + 1, __ATOMIC_RELEASE);
  return ADDED;
}

int TVMFFITypeRegisterField(int32_t type_index, const TVMFFIFieldInfo *info) {
  tn__type_t *type = tn__type_entry(type_index);
  if (type == NULL) return unknown_type(type_index);
  TVMFFIFieldInfo field = *info;
  TVMFFIAny initial = tn__none();
  const bool has_default = (info->flags & kTVMFFIFieldFlagBitMaskHasDefault) != 0;
  if (has_default && TVMFFIAnyViewToOwnedAny(&info->default_value_or_factory, &initial) != 0) return -1;
  field.default_value_or_factory = initial;
  void *setter = (info->flags & kTVMFFIFieldFlagBitSetterIsFunctionObj) ? info->setter : NULL;
  if (setter != NULL) tn__retain(setter);
  added_t added = NO_MEMORY;
  if (keep_texts(&field.name, &field.doc, &field.metadata)) {
    tn__lock(&tn__type_lock);
    added = add_field(type, &field);
    tn__unlock(&tn__type_lock);
  }
  if (added == ADDED) return 0;
  drop_text(field.name);
  drop_text(field.doc);
  drop_text(field.metadata);
  tn__clear(&initial);
  tn__release(setter);
  if (added == NO_MEMORY) return tn__no_memory();
  return tn__raise("InternalError", "Duplicate field name \"%.*s\" in type \"%s\"", (int)info->name.size,
                   info->name.data, type->info.type_key.data);
}

static added_t add_method(tn__type_t *type, const TVMFFIMethodInfo *method) {
  const int32_t count = type->info.num_methods;
  TVMFFIMethodInfo *methods = grown(type->info.methods, count, count, &type->method_capacity, sizeof *method);
  if (methods == NULL) return NO_MEMORY;
  methods[count] = *method;
  __atomic_store_n(&type->info.methods, methods, __ATOMIC_RELEASE);
  __atomic_store_n(&type->info.num_methods, count + 1, __ATOMIC_RELEASE);
  return ADDED;
}

int TVMFFITypeRegisterMethod(int32_t type_index, const TVMFFIMethodInfo *info) {
  tn__type_t *type = tn__type_entry(type_index);
  if (type == NULL) return unknown_type(type_index);
  TVMFFIMethodInfo method = *info;
  if (TVMFFIAnyViewToOwnedAny(&info->method, &method.method) != 0) return -1;
  added_t added = NO_MEMORY;
  if (keep_texts(&method.name, &method.doc, &method.metadata)) {
    tn__lock(&tn__type_lock);
    added = add_method(type, &method);
    tn__unlock(&tn__type_lock);
  }
  if (added == ADDED) return 0;
  drop_text(method.name);
  drop_text(method.doc);
  drop_text(method.metadata);
  tn__clear(&method.method);
  return tn__no_memory();
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
  drop_text(kept.doc);
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

static added_t add_attr(int32_t type_index, TVMFFIByteArray name, const TVMFFIAny *value) {
  column_t *own = column_of(name);
  if (own == NULL) return NO_MEMORY;
  /* Index 0 only creates the column. */
  if (type_index == kTVMFFINone) return ADDED;
  TVMFFITypeAttrColumn *column = &own->column;
  if (type_index < column->size && column->data[type_index].type_index != kTVMFFINone) return TAKEN;
  TVMFFIAny *data = grown(column->data, column->size, type_index, &own->capacity, sizeof *data);
  if (data == NULL) return NO_MEMORY;
  data[type_index] = *value;
  __atomic_store_n(&column->data, data, __ATOMIC_RELEASE);
  if (type_index >= column->size) __atomic_store_n(&column->size, type_index + 1, __ATOMIC_RELEASE);
  return ADDED;
}

int TVMFFITypeRegisterAttr(int32_t type_index, const TVMFFIByteArray *attr_name, const TVMFFIAny *value) {
  TVMFFIAny kept = tn__none();
  if (tn__type_entry(type_index) == NULL) return unknown_type(type_index);
  if (type_index != kTVMFFINone && TVMFFIAnyViewToOwnedAny(value, &kept) != 0) return -1;
  tn__lock(&tn__type_lock);
  const added_t added = add_attr(type_index, *attr_name, &kept);
  tn__unlock(&tn__type_lock);
  if (added == ADDED) return 0;
  tn__clear(&kept);
  if (added == NO_MEMORY) return tn__no_memory();
  return tn__raise("RuntimeError", "TypeAttr `%.*s` is already registered for type index %d", (int)attr_name->size,
                   attr_name->data, type_index);
}

const TVMFFITypeAttrColumn *TVMFFIGetTypeAttrColumn(const TVMFFIByteArray *attr_name) {
  tn__lock(&tn__type_lock);
  const column_t *found = tn__names_get(&columns, *attr_name);
  tn__unlock(&tn__type_lock);
  return found == NULL ? NULL : &found->column;
}
