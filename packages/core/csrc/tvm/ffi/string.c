/* Strings and bytes: up to seven bytes are stored in the value itself, more in an object. */
#include "internal.h"
#include "object.h"

#define SMALL_LIMIT 7

typedef struct {
  TVMFFIObject head;
  TVMFFIByteArray cell;
  char text[];
} text_t;

static void text_destroy(text_t *self) { (void)self; }
TN_DELETER(text_deleter, text_destroy)

static int make(const char *data, size_t size, int32_t small_index, int32_t object_index, TVMFFIAny *out) {
  if (size <= SMALL_LIMIT) {
    TVMFFIAny value = {.type_index = small_index, .small_str_len = (uint32_t)size, .v_uint64 = 0};
    if (size > 0) memcpy(value.v_bytes, data, size);
    *out = value;
    return 0;
  }
  if (size > PTRDIFF_MAX - sizeof(text_t) - 1) return tn__no_memory();
  text_t *object = tn__object_new(sizeof *object + size + 1, object_index, text_deleter);
  if (object == NULL) return tn__no_memory();
  memcpy(object->text, data, size);
  object->cell = (TVMFFIByteArray){object->text, size};
  *out = tn__object(object);
  return 0;
}

int tn__text(const char *data, size_t size, TVMFFIAny *out) {
  return make(data, size, kTVMFFISmallStr, kTVMFFIStr, out);
}

int TVMFFIStringFromByteArray(const TVMFFIByteArray *input, TVMFFIAny *out) {
  return tn__text(input->data, input->size, out);
}

int TVMFFIBytesFromByteArray(const TVMFFIByteArray *input, TVMFFIAny *out) {
  return make(input->data, input->size, kTVMFFISmallBytes, kTVMFFIBytes, out);
}

bool tn__text_of(const TVMFFIAny *value, bool bytes, TVMFFIByteArray *out) {
  switch (value->type_index) {
    case kTVMFFIRawStr:
      *out = tn__span(value->v_c_str);
      return true;
    case kTVMFFISmallStr:
    case kTVMFFISmallBytes:
      *out = (TVMFFIByteArray){value->v_bytes, value->small_str_len};
      return bytes || value->type_index == kTVMFFISmallStr;
    case kTVMFFIStr:
    case kTVMFFIBytes:
      *out = *TVMFFIBytesGetByteArrayPtr(value->v_obj);
      return bytes || value->type_index == kTVMFFIStr;
    case kTVMFFIByteArrayPtr:
      *out = *(const TVMFFIByteArray *)value->v_ptr;
      return bytes;
    default:
      return false;
  }
}
