/* The system's loader. */
#pragma once

#include <stdint.h>

/* Opens a library, and binds all symbols at once. The loader takes a path that it knows for the library that it has.
 * `visibility` is RTLD_LOCAL or RTLD_GLOBAL. */
int32_t tn__loader_open(const char *path, int visibility, void **out);
