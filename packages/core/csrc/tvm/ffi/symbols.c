/* The symbols of modules: those of opened libraries, those that a program registers, and the context symbols that
 * the loader writes into a library's variables. */
#include <stdlib.h>

#include "base/lock.h"
#include "symbols.h"

static tn__lock_t lock = TN__LOCK;
static tn__names_t context_symbols;
static tn__names_t system_symbols; /* registered by the program */

static int register_symbol(tn__names_t *names, const char *name, void *symbol) {
  tn__lock(&lock);
  void **place = tn__names_add(names, tn__span(name));
  if (place != NULL) *place = symbol;
  tn__unlock(&lock);
  return place == NULL ? tn__no_memory() : 0;
}

int TVMFFIEnvModRegisterContextSymbol(const char *name, void *symbol) {
  return register_symbol(&context_symbols, name, symbol);
}

int TVMFFIEnvModRegisterSystemLibSymbol(const char *name, void *symbol) {
  return register_symbol(&system_symbols, name, symbol);
}

static void *system_symbol(const char *name) {
  tn__lock(&lock);
  void *symbol = tn__names_get(&system_symbols, tn__span(name));
  tn__unlock(&lock);
  return symbol;
}

/* With the prefix `p_`, `__tvm_ffi_f` is registered as `__tvm_ffi_p_f`, and every other name as `p_name`. */
static void *prefixed_system_symbol(const char *prefix, const char *name) {
  static const char marker[] = "__tvm_ffi_";
  const bool is_marked = strncmp(name, marker, sizeof marker - 1) == 0;
  char *full = tn__join(is_marked ? marker : "", prefix, is_marked ? name + sizeof marker - 1 : name);
  if (full == NULL) return NULL;
  void *symbol = system_symbol(full);
  free(full);
  return symbol;
}

void *tn__library_symbol(const tn__library_t *library, const char *name) {
  if (library->dynamic == NULL) {
    void *symbol = prefixed_system_symbol(library->prefix, name);
    return symbol != NULL ? symbol : system_symbol(name);
  }
  void *address = NULL;
  return tn_library_symbol(library->dynamic, name, strlen(name), &address) == TN_OK ? address : NULL;
}

void *tn__library_function(const tn__library_t *library, const char *name) {
  void *address = NULL;
  if (library->dynamic != NULL)
    return tn_library_function(library->dynamic, name, strlen(name), &address) == TN_OK ? address : NULL;
  address = tn__library_symbol(library, name);
  return address == NULL || tn_address_is_data(address) != 0 ? NULL : address;
}

void tn__fill_context(const tn__library_t *library) {
  tn__lock(&lock);
  size_t count = context_symbols.used;
  tn__unlock(&lock);
  for (size_t i = 0; i < count; i++) {
    tn__lock(&lock);
    const tn__name_t entry = context_symbols.entries[i]; /* context symbols are never removed */
    tn__unlock(&lock);
    void **variable = tn__library_symbol(library, entry.key);
    if (variable != NULL) *variable = entry.value;
  }
}
