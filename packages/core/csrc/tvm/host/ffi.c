/* The table of functions of the tvm-ffi library that this process uses. */
#include <string.h>

#include "backend.h"
#include "host.h"

tn__ffi_t tn__ffi;

static int32_t find(void *library, const char *name, bool required, void *place) {
  void *address = NULL;
  int32_t status = tn_library_symbol(library, name, strlen(name), &address);
  if (status != TN_OK && required) return status;
  memcpy(place, &address, sizeof address);
  return TN_OK;
}

/* Binds the functions of an opened tvm-ffi library, and gives it what kernels ask for. Once for a process: later calls
 * with any library do nothing. TN_NOT_FOUND if the library lacks a function. */
TN_API int32_t tn_packed_bind(void *library) {
  static atomic_flag bound = ATOMIC_FLAG_INIT;
  if (atomic_flag_test_and_set(&bound)) return TN_OK;
  int32_t status = TN_OK;
#define FIND(name, required) \
  if (status == TN_OK) status = find(library, #name, required, &tn__ffi.name);
  TN_FFI_FUNCTIONS(FIND)
#undef FIND
  if (status == TN_OK) status = tn__register_backend();
  if (status != TN_OK) atomic_flag_clear(&bound);
  return status;
}
