/* The type table: indices, keys and ancestors. Read without a lock and changed under one; types are never removed. */
#include <stdio.h>
#include <stdlib.h>

#include "type.h"

#define QUERY_ONLY (-2)

tn__lock_t tn__type_lock = TN__LOCK;
static tn__type_t *types[TN_TYPE_LIMIT];
static tn__names_t by_key;
static int32_t next_index = kTVMFFIDynObjectBegin;

tn__type_t *tn__type_entry(int32_t type_index) {
  if (type_index < 0 || type_index >= TN_TYPE_LIMIT) return NULL;
  return __atomic_load_n(&types[type_index], __ATOMIC_ACQUIRE);
}

const TVMFFITypeInfo *tn_tvm_find_type(int32_t type_index) {
  const tn__type_t *type = tn__type_entry(type_index);
  return type == NULL ? NULL : &type->info;
}

const char *tn__type_name(int32_t type_index) {
  const TVMFFITypeInfo *info = tn_tvm_find_type(type_index);
  return info == NULL ? "an unknown type" : info->type_key.data;
}

/* Ends the process. Kernels expect that of functions that cannot return an error: no later call would be safe. */
static void die(const char *what, TVMFFIByteArray key, int32_t index) {
  fprintf(stderr, "libtvm_ffi: %s (type `%.*s`, index %d)\n", what, (int)key.size, key.data, index);
  abort();
}

static int32_t allocate_index(TVMFFIByteArray key, int32_t static_index, int32_t child_slots, tn__type_t *parent) {
  if (static_index >= 0) {
    if (static_index >= TN_TYPE_LIMIT) die("a static type index is out of range", key, static_index);
    if (types[static_index] != NULL) die("two types have the same static index", key, static_index);
    return static_index;
  }
  if (parent == NULL) die("a type with no static index must have a parent", key, static_index);
  int32_t slots = child_slots + 1;
  if (parent->allocated_slots + slots <= parent->slots) {
    int32_t index = parent->info.type_index + parent->allocated_slots;
    parent->allocated_slots += slots;
    return index;
  }
  if (!parent->can_overflow) die("the parent has no room for another child", key, parent->info.type_index);
  if (slots > TN_TYPE_LIMIT - next_index) die("the type table is full", key, next_index);
  int32_t index = next_index;
  next_index += slots;
  return index;
}

static int32_t add_type(TVMFFIByteArray key, int32_t static_index, int32_t depth, int32_t child_slots,
                        bool can_overflow, int32_t parent_index) {
  tn__type_t *parent = parent_index < 0 ? NULL : tn__type_entry(parent_index);
  if (parent_index >= 0 && parent == NULL) die("the parent of a type must be registered first", key, parent_index);
  if (depth != 0 && (parent == NULL || depth != parent->info.type_depth + 1))
    die("the depth of a type must be one more than its parent's", key, depth);
  int32_t index = allocate_index(key, static_index, child_slots, parent);
  tn__type_t *type = calloc(1, sizeof *type);
  const TVMFFITypeInfo **ancestors = calloc((size_t)depth + 1, sizeof *ancestors);
  char *name = tn__duplicate(key);
  void **place = tn__names_add(&by_key, key);
  if (type == NULL || ancestors == NULL || name == NULL || place == NULL) die("out of memory", key, index);
  for (int32_t i = 0; i + 1 < depth; i++) ancestors[i] = parent->info.type_ancestors[i];
  if (depth > 0) ancestors[depth - 1] = &parent->info;
  type->slots = child_slots + 1;
  type->allocated_slots = 1;
  type->can_overflow = can_overflow && (parent == NULL || parent->can_overflow);
  type->info.type_index = index;
  type->info.type_depth = depth;
  type->info.type_key = (TVMFFIByteArray){name, key.size};
  type->info.type_ancestors = ancestors;
  type->info.type_key_hash = tn__hash(key);
  *place = type;
  __atomic_store_n(&types[index], type, __ATOMIC_RELEASE);
  return index;
}

int32_t TVMFFITypeGetOrAllocIndex(const TVMFFIByteArray *type_key, int32_t static_type_index, int32_t type_depth,
                                  int32_t num_child_slots, int32_t child_slots_can_overflow,
                                  int32_t parent_type_index) {
  tn__lock(&tn__type_lock);
  const tn__type_t *type = tn__names_get(&by_key, *type_key);
  int32_t index = type != NULL ? type->info.type_index : QUERY_ONLY;
  if (type == NULL && parent_type_index != QUERY_ONLY)
    index = add_type(*type_key, static_type_index, type_depth, num_child_slots, child_slots_can_overflow != 0,
                     parent_type_index);
  tn__unlock(&tn__type_lock);
  return index;
}

int TVMFFITypeKeyToIndex(const TVMFFIByteArray *type_key, int32_t *out_index) {
  tn__lock(&tn__type_lock);
  const tn__type_t *type = tn__names_get(&by_key, *type_key);
  tn__unlock(&tn__type_lock);
  if (type == NULL)
    return tn__raise("InternalError", "Cannot find type `%.*s`", (int)type_key->size, type_key->data);
  *out_index = type->info.type_index;
  return 0;
}

const TVMFFITypeInfo *TVMFFIGetTypeInfo(int32_t type_index) {
  const TVMFFITypeInfo *info = tn_tvm_find_type(type_index);
  if (info == NULL) die("there is no such type", TN_SPAN("?"), type_index);
  return info;
}
