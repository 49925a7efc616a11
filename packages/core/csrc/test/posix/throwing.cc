/* Calls functions that throw, of the C++ runtime that the guard library has loaded. With throw expressions, a cross build would
 * need the headers of that runtime. */
#include "throwing.h"

#include <dlfcn.h>
#include <string.h>

template <typename Function>
static Function *find(const char *name) {
  void *const address = dlsym(RTLD_DEFAULT, name);
  Function *function = nullptr;
  memcpy(&function, &address, sizeof function);
  return function;
}

void throw_bad_array_new_length() { find<void()>("__cxa_throw_bad_array_new_length")(); }

#if defined(__linux__)
void throw_bad_alloc() { find<void()>("_ZSt17__throw_bad_allocv")(); }
void throw_logic_error(const char *text) { find<void(const char *)>("_ZSt19__throw_logic_errorPKc")(text); }
#endif
