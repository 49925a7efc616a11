#include "tvm/ffi_table.h"

#include <string.h>

tn__ffi_t tn__ffi;

static int32_t find(void *library, const char *name, bool required, void *place) {
  void *address = NULL;
  int32_t status = tn_library_symbol(library, name, strlen(name), &address);
  if (status != TN_OK && required) return status;
  memcpy(place, &address, sizeof address);
  return TN_OK;
}

int32_t tn__ffi_find(void *library) {
  int32_t status = TN_OK;
#define FIND(name, required) \
  if (status == TN_OK) status = find(library, #name, required, &tn__ffi.name);
  TN_FFI_FUNCTIONS(FIND)
#undef FIND
  return status;
}
