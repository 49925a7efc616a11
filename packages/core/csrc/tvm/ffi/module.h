/* Modules, as their files share them. */
#pragma once

#include "symbols.h"

/* --- module.c ----------------------------------------------------------------------------------------------------- */

/* How the compiler of a library names symbols. */
typedef enum {
  TN_SYMBOLS_PREFIXED, /* `__tvm_ffi_<name>`: tvm-ffi 0.1, TVM 0.22 and later */
  TN_SYMBOLS_PLAIN,    /* the plain name: TVM 0.21 */
  TN_SYMBOLS_LEGACY,   /* the plain name, in the convention before tvm-ffi: TVM to 0.20 */
} tn__generation_t;

typedef struct {
  TVMFFIObject head;
  tn__library_t library;
  tn__generation_t generation;
  void **imports; /* module objects, retained */
  size_t import_count;
  tn__names_t found; /* the functions that kernels looked up, retained */
} tn__module_t;

/* A module over a library, retained for the caller. Takes over the prefix; null without memory. */
tn__module_t *tn__module_new(tn__library_t library, tn__generation_t generation);

/* The module of a handle if this library created it, else null. */
tn__module_t *tn__module_of(void *handle);

/* Adds an import. 0, or -1 with an error raised. */
int tn__module_import(tn__module_t *module, void *imported);

/* Registers the fields of modules, when the library is loaded. */
void tn__register_module_fields(void);

/* --- embedded.c: the modules inside a library --------------------------------------------------------------------- */

/* Reads the modules that a library contains and returns the root, retained. `bytes` is the library's `library_bin`,
 * or its `__tvm_dev_mblob` if the generation is TN_SYMBOLS_LEGACY. `*own` becomes the module of the library itself.
 * Takes over the prefix, also on failure. 0, or -1 with an error raised. */
int tn__read_embedded_modules(const char *bytes, tn__library_t library, tn__generation_t generation,
                              tn__module_t **root, tn__module_t **own);
