/* C++ exceptions for tests, thrown from C. */
#ifndef TENON_TVM_THROWING_H
#define TENON_TVM_THROWING_H

#include <dlfcn.h>

#include "support.h"
#include "tenon.h"

/* Binds tvm-ffi, which happens once for the process. */
static inline int bind_ffi(void) {
  void *library;
  static const char name[] = "libtvm_ffi.so";
  return tn_library_open(name, sizeof name - 1, &library) == TN_OK && tn_packed_bind(library) == TN_OK;
}

/* Throws a std::bad_array_new_length with a function of the C++ runtime, which the guard library has loaded. */
static inline void throw_exception(void) {
  void (*thrower)(void) = NULL;
  void *address = dlsym(RTLD_DEFAULT, "__cxa_throw_bad_array_new_length");
  memcpy(&thrower, &address, sizeof thrower);
  thrower();
}

/* Whether the calling thread's error, which this takes, is that of the exception. */
static inline int raised_exception(void) {
  static const char text[] = "threw a C++ exception";
  TVMFFIObjectHandle error = NULL;
  TVMFFIErrorMoveFromRaised(&error);
  if (error == NULL) return 0;
  const TVMFFIErrorCell *cell = TVMFFIErrorGetCellPtr(error);
  const int is_found = memmem(cell->message.data, cell->message.size, text, sizeof text - 1) != NULL;
  TVMFFIObjectDecRef(error);
  return is_found;
}

#endif
