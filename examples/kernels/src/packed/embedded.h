/* What the libraries with a module inside share: the module is of the kind `settings`, and its bytes are one number. The
 * runtime of that kind is in the library itself and registers its loader when the library is opened. */
#ifndef TENON_EXAMPLE_EMBEDDED_H
#define TENON_EXAMPLE_EMBEDDED_H

#include <stddef.h>
#include <stdint.h>

#define PACKED_STRUCT struct __attribute__((packed))

/* A text before which its size stands. */
#define SIZED_TEXT(name, text) \
  PACKED_STRUCT {              \
    uint64_t size;             \
    char characters[sizeof text - 1]; \
  } name

/* The library itself is the first module; it imports the other: children of module i are columns[rows[i]] to
 * columns[rows[i + 1] - 1]. */
#define TREE             \
  uint64_t row_count;    \
  uint64_t rows[3];      \
  uint64_t column_count; \
  uint64_t columns[1]
#define TREE_VALUE 3, {0, 1, 1}, 1, {1}

#endif
