/* A string in the layout of TensorFlow's releases, by the functions that kernels have (tenon/tstring.h), with the statuses of the core. */
#include "internal.h"

static int32_t status_of(bool has_memory, size_t size) {
  return has_memory ? TN_OK : tn__fail(TN_OUT_OF_MEMORY, "out of memory: cannot allocate a string of %zu bytes", size);
}

int32_t tn_tstring_copy(void *string, const char *bytes, size_t byte_size) {
  return status_of(tn_string_copy(string, bytes, byte_size), byte_size);
}

int32_t tn_tstring_append(void *string, const char *bytes, size_t byte_size) {
  return status_of(tn_string_append(string, bytes, byte_size), byte_size);
}

int32_t tn_tstring_resize(void *string, size_t byte_size, char fill) {
  return status_of(tn_string_resize(string, byte_size, fill), byte_size);
}

int32_t tn_tstring_reserve(void *string, size_t capacity) {
  return status_of(tn_string_reserve(string, capacity), capacity);
}

int32_t tn_tstring_reserve_amortized(void *string, size_t capacity) {
  return status_of(tn_string_reserve_amortized(string, capacity), capacity);
}

int32_t tn_tstring_assign_view(void *string, const char *bytes, size_t byte_size) {
  return status_of(tn_string_assign_view(string, bytes, byte_size), byte_size);
}

int32_t tn_tstring_assign_owned_view(void *string, const char *bytes, size_t byte_size, tn_tstring_owner_t *owner) {
  return status_of(tn_string_assign_owned_view(string, bytes, byte_size, owner), byte_size);
}

int32_t tn_tstring_assign(void *string, const void *source) {
  return status_of(tn_string_assign(string, source), tn_string_size(source));
}

int32_t tn_tstring_move(void *string, void *source, int32_t keep_views) {
  return status_of(tn_string__move(string, source, keep_views != 0), tn_string_size(source));
}

void tn_tstring_dealloc(void *string) { tn_string_dealloc(string); }

int32_t tn_tstring_get_type(const void *string) { return tn_string_type(string); }

size_t tn_tstring_get_size(const void *string) { return tn_string_size(string); }

size_t tn_tstring_get_capacity(const void *string) { return tn_string_capacity(string); }

const char *tn_tstring_get_data_pointer(const void *string) { return tn_string_data(string); }

char *tn_tstring_get_mutable_data_pointer(void *string) { return tn_string_mutable_data(string); }

void tn_tstring_dealloc_all(void *structs, uint64_t count, int32_t layout) {
  const size_t stride = tn__struct_size(layout);
  uint8_t *at = structs;
  for (uint64_t i = 0; i < count; i++, at += stride) {
    if (layout == TN_TSTRING_TF)
      tn_string_dealloc(at);
    else
      tn_tstring_rfc_dealloc(at, layout);
  }
}
