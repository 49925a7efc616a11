/* Files of libraries. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tenon.h"

/* Opens the file that is at the path now. `identity` is null or the text that the file must have: see
 * tn_library_open_file(). */
int32_t tn__library_file_open(const char *path, const char *identity, void **out);

/* Writes the identity of the file that is at the path now, with its terminator. False if there is none, or the loader searches for the
 * name. */
bool tn__library_file_identity(const char *path, char text[TN_IDENTITY_SIZE]);
