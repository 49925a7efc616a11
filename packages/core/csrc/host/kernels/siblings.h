/* The libraries of Tenon, which are beside the core. */
#ifndef TENON_HOST_SIBLINGS_H
#define TENON_HOST_SIBLINGS_H

#include <stdbool.h>
#include <stddef.h>

/* Writes the path of a library of Tenon: `tenon_guard` is `<directory of the core>/libtenon_guard.so`. False if it does not
 * fit. */
bool tn__sibling_path(const char *name, char *path, size_t size);

#endif
