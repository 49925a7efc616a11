/* The symbols of modules. */
#pragma once

#include "internal.h"

/* The source of a module's symbols: an opened library, or the symbols that a program registered under a prefix. */
typedef struct {
  void *dynamic; /* of tn_library_open(), or null */
  char *prefix;  /* owned; only without a library */
} tn__library_t;

/* Returns the address of a symbol, or null. */
void *tn__library_symbol(const tn__library_t *library, const char *name);

/* Likewise, and null if the symbol is data. */
void *tn__library_function(const tn__library_t *library, const char *name);

/* Writes the context symbols into the variables that the library exports under their names. */
void tn__fill_context(const tn__library_t *library);
