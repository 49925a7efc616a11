/* Files of the libraries that other libraries need. */
#pragma once

#include <stdint.h>

/* Remembers the files of all libraries that the loader has now. Those that it had before keep what is known. */
void tn__dependencies_remember(void);

/* Fails if the loader gave a library an earlier dependency, at whose path there is another file by now. The loader never loads
 * a second file for a name that a library needs. */
int32_t tn__dependencies_check(void *library);
