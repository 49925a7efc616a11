/* The types that libraries register with the bound tvm-ffi library, and functions that read and write their fields. */
#include <stdlib.h>

#include "error.h"
#include "host.h"

int32_t tn_packed_type_index(const char *key, size_t size) {
  TVMFFIByteArray span = {key, size};
  int32_t type_index = -1;
  if (tn__ffi.TVMFFITypeKeyToIndex(&span, &type_index) == 0) return type_index;
  tn__ffi_drop_raised();
  return -1;
}

const TVMFFITypeInfo *tn_packed_type_info(int32_t type_index) {
  return tn__ffi.tn_tvm_find_type != NULL ? tn__ffi.tn_tvm_find_type(type_index) : tn__ffi.TVMFFIGetTypeInfo(type_index);
}

int32_t tn_packed_type_attribute(TVMFFIAny *slot, const char *name, size_t size, int32_t type_index) {
  TVMFFIByteArray span = {name, size};
  const TVMFFITypeAttrColumn *place = tn__ffi.TVMFFIGetTypeAttrColumn(&span);
  *slot = (TVMFFIAny){.type_index = kTVMFFINone};
  if (place == NULL) return 0;
  const TVMFFITypeAttrColumn column = *place;
  const int64_t at = (int64_t)type_index - column.begin_index;
  if (at < 0 || at >= column.size) return 0;
  return tn__ffi.TVMFFIAnyViewToOwnedAny(&column.data[at], slot) == 0 ? 0 : tn__take_error(slot);
}

/* A function that reads a field of its first argument, or writes its second argument to the field. */
typedef struct {
  int64_t offset;
  TVMFFIFieldGetter get;
  int (*set)(void *field, const TVMFFIAny *value);
  TVMFFIObjectHandle set_object; /* retained; a function that is called instead of `set`, or null */
} field_t;

static void free_field(void *self) {
  field_t *field = self;
  if (field->set_object != NULL) tn__ffi.TVMFFIObjectDecRef(field->set_object);
  free(field);
}

static int read_field(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  const field_t *field = self;
  (void)num_args;
  return field->get((char *)args[0].v_obj + field->offset, result);
}

static int write_field(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  const field_t *field = self;
  void *place = (char *)args[0].v_obj + field->offset;
  (void)num_args;
  if (field->set_object == NULL) return field->set(place, &args[1]);
  TVMFFIAny values[] = {{.type_index = kTVMFFIOpaquePtr, .v_ptr = place}, args[1]};
  const int status = tn__ffi.TVMFFIFunctionCall(field->set_object, values, 2, result);
  if (status == 0) tn_packed_clear(result);
  return status;
}

int32_t tn_packed_field_create(TVMFFIAny *slot, const TVMFFIFieldInfo *info, uint32_t writes) {
  if (writes ? info->setter == NULL : info->getter == NULL)
    return tn__packed_fail(slot, "AttributeError", "the library registers no function for this access to the field");
  field_t *field = malloc(sizeof *field);
  if (field == NULL) return tn__packed_fail(slot, "MemoryError", "out of memory for a field");
  *field = (field_t){.offset = info->offset, .get = info->getter};
  if (writes && (info->flags & kTVMFFIFieldFlagBitSetterIsFunctionObj) != 0) {
    field->set_object = info->setter;
    tn__ffi.TVMFFIObjectIncRef(field->set_object);
  } else {
    field->set = (int (*)(void *, const TVMFFIAny *))(uintptr_t)info->setter;
  }
  TVMFFIObjectHandle function = NULL;
  const int status = tn__ffi.TVMFFIFunctionCreate(field, writes ? write_field : read_field, free_field, &function);
  if (status != 0) free_field(field);
  return tn__leave(slot, status, kTVMFFIFunction, function);
}
