/* What the files about modules share. */
#ifndef TENON_TVM_MODULE_H
#define TENON_TVM_MODULE_H

#include "internal.h"

/* Where a module's symbols come from: an opened shared library, or the symbols that a program registered (with a
 * prefix). */
typedef struct {
  void *dynamic; /* of tn_library_open, or null */
  char *prefix;  /* of the registered symbols: owned */
} tn__library_t;

/* The address of a symbol, or null. */
void *tn__library_symbol(const tn__library_t *library, const char *name);

/* posix/symbol.c, win32/symbol.c: whether an address is a function of its library, and not a variable. */
bool tn__is_function(const void *address);

/* How the compiler of a library named its symbols. */
typedef enum {
  TN_SYMBOLS_PREFIXED, /* `__tvm_ffi_<name>`: tvm-ffi 0.1, TVM 0.22 and later */
  TN_SYMBOLS_PLAIN,    /* the name itself: TVM 0.21 */
  TN_SYMBOLS_LEGACY,   /* the name itself, in the convention before tvm-ffi: TVM to 0.20 */
} tn__generation_t;

typedef struct {
  TVMFFIObject head;
  tn__library_t library;
  tn__generation_t generation;
  void **imports; /* module objects, a reference each */
  size_t import_count;
  tn__names_t found; /* functions that kernels looked up, a reference each */
} tn__module_t;

/* A module over a library: takes over the prefix. One reference for the caller; null without memory. */
tn__module_t *tn__module_new(tn__library_t library, tn__generation_t generation);

/* The module of a handle if this library made it, else null. */
tn__module_t *tn__module_of(void *handle);

/* Adds an import. 0, or -1 with the error raised. */
int tn__module_import(tn__module_t *module, void *imported);

/* A function of a module, or with `imports` of what it imports: 0 and one reference, or null if there is none. */
int tn__module_function(tn__module_t *module, const char *name, bool imports, void **out);

/* Reads the modules of a library's `library_bin` and returns the first, with one reference. `*context` becomes the
 * module of the library itself. 0, or -1 with the error raised. */
int tn__read_library_bin(const char *bytes, tn__library_t library, tn__generation_t generation, tn__module_t **out,
                         tn__module_t **context);

/* The same for the `__tvm_dev_mblob` of a library of TVM to 0.20. */
int tn__read_module_blob(const char *bytes, tn__library_t library, tn__module_t **out, tn__module_t **context);

/* Makes the module of a library whose symbols can be reached; `unmarked` is how its symbols are named if nothing in it
 * tells. Takes over the prefix. */
int tn__module_from_library(tn__library_t library, tn__generation_t unmarked, TVMFFIAny *result);

#endif
