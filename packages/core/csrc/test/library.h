/* Libraries beside the core. */
#ifndef TENON_TEST_LIBRARY_H
#define TENON_TEST_LIBRARY_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenon.h"

#if defined(_WIN32)
#define LIBRARY_NAME(name) name ".dll"
#elif defined(__APPLE__)
#define LIBRARY_NAME(name) "lib" name ".dylib"
#else
#define LIBRARY_NAME(name) "lib" name ".so"
#endif

static inline int32_t open_library(const char *path, void **out) { return tn_library_open(path, strlen(path), out); }

/* The path of a library, in a buffer that the next call overwrites. Sanitizers replace dlopen() by one that does not search
 * beside the core. Windows searches beside the program. */
static inline const char *beside_core(const char *file) {
  static char path[4096];
#if defined(_WIN32)
  snprintf(path, sizeof path, "%s", file);
#else
  const char *core = NULL, *version = NULL;
  if (tn_first_core(&core, &version) != TN_OK) abort();
  snprintf(path, sizeof path, "%.*s%s", (int)(strrchr(core, '/') + 1 - core), core, file);
#endif
  return path;
}

#endif
