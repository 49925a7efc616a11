/* A reader and a writer of MessagePack. */
#ifndef TENON_HOST_MESSAGE_PACK_H
#define TENON_HOST_MESSAGE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- reading: bytes that are not trusted --------------------------------------------------------------------------- */

typedef enum {
  TN__PACK_NIL,
  TN__PACK_BOOL,
  TN__PACK_INT,
  TN__PACK_FLOAT,
  TN__PACK_STR,
  TN__PACK_BIN,
  TN__PACK_ARRAY, /* `size` items follow */
  TN__PACK_MAP,   /* 2 * `size` items follow */
  TN__PACK_EXT,
} tn__pack_kind_t;

typedef struct {
  tn__pack_kind_t kind;
  int8_t type; /* of an extension */
  int64_t integer; /* 0 or 1 for a bool */
  double number;
  const uint8_t *bytes; /* borrowed from the message: of str, bin and ext */
  uint32_t size;
} tn__pack_item_t;

typedef struct {
  const uint8_t *at;
  size_t left;
} tn__pack_reader_t;

/* Reads the next item. False if the message ends inside it, or if its integer exceeds INT64_MAX. */
bool tn__pack_read(tn__pack_reader_t *reader, tn__pack_item_t *out);

/* --- writing -------------------------------------------------------------------------------------------------------- */

/* A message that grows: at first in memory of the caller, and in memory of its own when that is full. */
typedef struct {
  uint8_t *bytes;
  size_t used, capacity;
  bool is_own; /* whether tn__pack_free() frees `bytes` */
  bool has_failed; /* whether there was no memory; later writes are ignored */
} tn__pack_writer_t;

static inline tn__pack_writer_t tn__pack_writer(uint8_t *memory, size_t capacity) {
  return (tn__pack_writer_t){.bytes = memory, .capacity = capacity};
}

void tn__pack_free(tn__pack_writer_t *writer);

void tn__pack_nil(tn__pack_writer_t *writer);
void tn__pack_bool(tn__pack_writer_t *writer, bool value);
void tn__pack_int(tn__pack_writer_t *writer, int64_t value);
void tn__pack_float(tn__pack_writer_t *writer, double value);
void tn__pack_str(tn__pack_writer_t *writer, const char *text, size_t size);
void tn__pack_bin(tn__pack_writer_t *writer, const void *bytes, size_t size);
void tn__pack_array(tn__pack_writer_t *writer, size_t count);
void tn__pack_map(tn__pack_writer_t *writer, size_t count);

/* Writes the start of an extension, whose `size` bytes follow. */
void tn__pack_ext(tn__pack_writer_t *writer, int8_t type, size_t size);

/* Adds bytes as they are. */
void tn__pack_raw(tn__pack_writer_t *writer, const void *bytes, size_t size);

/* Adds `size` bytes that the caller writes before the next function of the writer. Null without memory. */
uint8_t *tn__pack_reserve(tn__pack_writer_t *writer, size_t size);

#endif
