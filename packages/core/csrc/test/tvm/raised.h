/* Errors of TVM that C++ exceptions become. */
#ifndef TENON_TVM_RAISED_H
#define TENON_TVM_RAISED_H

#include "library.h"
#include "support.h"

/* Binds tvm-ffi, which happens once for the process. */
static inline int bind_ffi(void) {
  void *library;
  return open_library(LIBRARY_NAME("tvm_ffi"), &library) == TN_OK && tn_packed_bind(library) == TN_OK;
}

/* Whether the calling thread's error, which this takes, is that of the exception. */
static inline int raised_exception(void) {
  static const char text[] = "threw a C++ exception";
  TVMFFIObjectHandle error = NULL;
  TVMFFIErrorMoveFromRaised(&error);
  if (error == NULL) return 0;
  const TVMFFIErrorCell *cell = TVMFFIErrorGetCellPtr(error);
  int is_found = 0;
  for (size_t at = 0; !is_found && at + sizeof text - 1 <= cell->message.size; at++)
    is_found = memcmp(cell->message.data + at, text, sizeof text - 1) == 0;
  TVMFFIObjectDecRef(error);
  return is_found;
}

#endif
