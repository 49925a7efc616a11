/* Strings and bytes: up to seven bytes in the value itself, else an object. */
#include <stdlib.h>

#include "internal.h"

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
      *out = (TVMFFIByteArray){value->v_c_str, strlen(value->v_c_str)};
      return true;
    case kTVMFFISmallBytes:
      if (!bytes) return false;
      *out = (TVMFFIByteArray){value->v_bytes, value->small_str_len};
      return true;
    case kTVMFFISmallStr:
      *out = (TVMFFIByteArray){value->v_bytes, value->small_str_len};
      return true;
    case kTVMFFIBytes:
      if (!bytes) return false;
      *out = ((const text_t *)(const void *)value->v_obj)->cell;
      return true;
    case kTVMFFIStr:
      *out = ((const text_t *)(const void *)value->v_obj)->cell;
      return true;
    case kTVMFFIByteArrayPtr:
      if (!bytes) return false;
      *out = *(const TVMFFIByteArray *)value->v_ptr;
      return true;
    default:
      return false;
  }
}

uint64_t tn__hash(const char *data, size_t size) {
  /* A polynomial over little-endian words modulo a Mersenne prime, the rest of the last word zero. */
  const uint64_t multiplier = 1099511628211u, modulus = 2147483647u;
  uint64_t hash = 0;
  size_t at = 0;
  for (; at + 8 <= size; at += 8) {
    uint64_t word;
    memcpy(&word, data + at, 8);
    hash = (hash * multiplier + word) % modulus;
  }
  if (at < size) {
    uint64_t word = 0;
    memcpy(&word, data + at, size - at);
    hash = (hash * multiplier + word) % modulus;
  }
  return hash;
}

char *tn__duplicate(TVMFFIByteArray text) {
  char *copy = malloc(text.size + 1);
  if (copy == NULL) return NULL;
  if (text.size > 0) memcpy(copy, text.data, text.size);
  copy[text.size] = '\0';
  return copy;
}
