/* Files of libraries. */
#pragma once

#include <stdint.h>

/* Opens the file that is at the path now. `identity` is null or the text that the file must have: see
 * tn_library_open_file(). */
int32_t tn__library_file_open(const char *path, const char *identity, void **out);
