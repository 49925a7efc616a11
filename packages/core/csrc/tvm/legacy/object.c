/* Objects: references, and types with the indices and keys of this convention. */
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "runtime.h"

/* The types that both conventions have. All other types have the index and key of tvm-ffi; those indices are larger. */
static const struct {
  const char *key;
  unsigned index;
  int32_t ffi_index;
} shared[] = {
    {"runtime.Object", 0, kTVMFFIObject},     {"runtime.Module", 1, kTVMFFIModule},
    {"runtime.NDArray", 2, kTVMFFITensor},    {"runtime.String", 3, kTVMFFIStr},
    {"Array", 4, kTVMFFIArray},               {"Map", 5, kTVMFFIMap},
    {"runtime.ShapeTuple", 6, kTVMFFIShape},  {"runtime.PackedFunc", 7, kTVMFFIFunction},
};

#define SHARED_COUNT (sizeof shared / sizeof *shared)

static unsigned index_of(int32_t ffi_index) {
  for (size_t i = 0; i < SHARED_COUNT; i++)
    if (shared[i].ffi_index == ffi_index) return shared[i].index;
  return (unsigned)ffi_index;
}

/* The type of an index, or null with an error raised. */
static const TVMFFITypeInfo *type_of(unsigned index) {
  const TVMFFITypeInfo *info = NULL;
  if (index < SHARED_COUNT) {
    info = tn_tvm_find_type(shared[index].ffi_index);
  } else if (index > kTVMFFIObject && index <= INT32_MAX && index_of((int32_t)index) == index) {
    info = tn_tvm_find_type((int32_t)index);
  }
  if (info == NULL) tn__legacy_raise("InternalError", "Unknown type index %u", index);
  return info;
}

int TVMObjectRetain(TVMObjectHandle object) { return TVMFFIObjectIncRef(object); }
int TVMObjectFree(TVMObjectHandle object) { return object == NULL ? 0 : TVMFFIObjectDecRef(object); }

int TVMObjectGetTypeIndex(TVMObjectHandle object, unsigned *out_index) {
  if (object == NULL) return tn__legacy_fail("ValueError", "the object must not be null");
  *out_index = index_of(((const TVMFFIObject *)object)->type_index);
  return 0;
}

int TVMObjectTypeKey2Index(const char *type_key, unsigned *out_index) {
  for (size_t i = 0; i < SHARED_COUNT; i++) {
    if (strcmp(type_key, shared[i].key) != 0) continue;
    *out_index = shared[i].index;
    return 0;
  }
  TVMFFIByteArray key = {type_key, strlen(type_key)};
  int32_t index;
  if (TVMFFITypeKeyToIndex(&key, &index) != 0) return tn__legacy_note_error();
  *out_index = index_of(index);
  return 0;
}

int TVMObjectTypeIndex2Key(unsigned type_index, char **out_type_key) {
  const TVMFFITypeInfo *info = type_of(type_index);
  if (info == NULL) return tn__legacy_note_error();
  const char *key = type_index < SHARED_COUNT ? shared[type_index].key : info->type_key.data;
  size_t size = type_index < SHARED_COUNT ? strlen(key) : info->type_key.size;
  char *copy = malloc(size + 1);
  if (copy == NULL) return tn__legacy_fail("MemoryError", "out of memory for the key of a type");
  memcpy(copy, key, size);
  copy[size] = '\0';
  *out_type_key = copy;
  return 0;
}

int TVMObjectDerivedFrom(uint32_t child_type_index, uint32_t parent_type_index, int *is_derived) {
  const TVMFFITypeInfo *child = type_of(child_type_index);
  const TVMFFITypeInfo *parent = child == NULL ? NULL : type_of(parent_type_index);
  if (parent == NULL) return tn__legacy_note_error();
  *is_derived = child == parent;
  for (int32_t i = 0; i < child->type_depth; i++) *is_derived |= child->type_ancestors[i] == parent;
  return 0;
}
