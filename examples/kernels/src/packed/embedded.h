/* The common parts of libraries with a module inside. The module has the kind `settings`, and its bytes are one number.
 * The library registers the loader of that kind when it is opened. */
#ifndef TENON_KERNELS_EMBEDDED_H
#define TENON_KERNELS_EMBEDDED_H

#include <stddef.h>
#include <stdint.h>

#define PACKED_STRUCT struct __attribute__((packed))

/* A text after its size. */
#define SIZED_TEXT(name, text)        \
  PACKED_STRUCT {                     \
    uint64_t size;                    \
    char characters[sizeof text - 1]; \
  } name

/* The tree of modules. Module i imports the modules columns[rows[i]] to columns[rows[i + 1] - 1]. The library is module
 * 0, and imports module 1. */
#define TREE             \
  uint64_t row_count;    \
  uint64_t rows[3];      \
  uint64_t column_count; \
  uint64_t columns[1]
#define TREE_VALUE 3, {0, 1, 1}, 1, {1}

#endif
