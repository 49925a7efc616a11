/* Reading what a library has inside: numbers are little-endian and have 64 bits. */
#ifndef TENON_TVM_BLOB_H
#define TENON_TVM_BLOB_H

#include "module.h"

typedef struct {
  const char *at, *end;
} tn__reader_t;

static inline bool tn__read_count(tn__reader_t *reader, uint64_t *out) {
  if (reader->end - reader->at < 8) return false;
  memcpy(out, reader->at, 8);
  reader->at += 8;
  return true;
}

/* A count and as many elements: where they start, not copied. */
static inline bool tn__read_array(tn__reader_t *reader, size_t element_size, const char **out, uint64_t *count) {
  if (!tn__read_count(reader, count)) return false;
  if (*count > (uint64_t)(reader->end - reader->at) / element_size) return false;
  *out = reader->at;
  reader->at += *count * element_size;
  return true;
}

static inline uint64_t tn__number_at(const char *numbers, uint64_t index) {
  uint64_t value;
  memcpy(&value, numbers + index * 8, 8);
  return value;
}

/* Raises that it can't be read, and returns -1. */
int tn__malformed_blob(void);

/* Links modules as the rows say: children of i are columns[rows[i]] to columns[rows[i + 1] - 1]. There are count + 1 rows. */
int tn__link_modules(void **modules, uint64_t count, const char *rows, const char *columns, uint64_t column_count);

#endif
