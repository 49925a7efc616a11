#include "message_pack.h"

#include <stdlib.h>
#include <string.h>

/* --- reading -------------------------------------------------------------------------------------------------------- */

static const uint8_t *take(tn__pack_reader_t *reader, size_t size) {
  if (size > reader->left) return NULL;
  const uint8_t *found = reader->at;
  reader->at += size;
  reader->left -= size;
  return found;
}

/* Reads a number of `size` bytes in network order. */
static bool read_number(tn__pack_reader_t *reader, size_t size, uint64_t *out) {
  const uint8_t *bytes = take(reader, size);
  if (bytes == NULL) return false;
  *out = 0;
  for (size_t i = 0; i < size; i++) *out = *out << 8 | bytes[i];
  return true;
}

static bool read_bytes(tn__pack_reader_t *reader, tn__pack_item_t *out, tn__pack_kind_t kind, uint64_t size) {
  out->kind = kind;
  out->size = (uint32_t)size;
  out->bytes = take(reader, (size_t)size);
  return out->bytes != NULL;
}

static bool read_sized(tn__pack_reader_t *reader, tn__pack_item_t *out, tn__pack_kind_t kind, size_t width) {
  uint64_t size;
  return read_number(reader, width, &size) && read_bytes(reader, out, kind, size);
}

static bool read_ext(tn__pack_reader_t *reader, tn__pack_item_t *out, uint64_t size) {
  const uint8_t *type = take(reader, 1);
  if (type == NULL) return false;
  out->type = (int8_t)*type;
  return read_bytes(reader, out, TN__PACK_EXT, size);
}

static bool read_unsigned(tn__pack_reader_t *reader, tn__pack_item_t *out, size_t width) {
  uint64_t value;
  if (!read_number(reader, width, &value) || value > INT64_MAX) return false;
  out->kind = TN__PACK_INT;
  out->integer = (int64_t)value;
  return true;
}

static bool read_signed(tn__pack_reader_t *reader, tn__pack_item_t *out, size_t width) {
  uint64_t value;
  if (!read_number(reader, width, &value)) return false;
  const unsigned unused = (unsigned)(64 - 8 * width);
  out->kind = TN__PACK_INT;
  out->integer = (int64_t)(value << unused) >> unused;
  return true;
}

static bool read_float(tn__pack_reader_t *reader, tn__pack_item_t *out, size_t width) {
  uint64_t bits;
  if (!read_number(reader, width, &bits)) return false;
  out->kind = TN__PACK_FLOAT;
  if (width == 8) {
    memcpy(&out->number, &bits, sizeof out->number);
    return true;
  }
  const uint32_t narrow = (uint32_t)bits;
  float single;
  memcpy(&single, &narrow, sizeof single);
  out->number = (double)single;
  return true;
}

static bool read_count(tn__pack_reader_t *reader, tn__pack_item_t *out, tn__pack_kind_t kind, size_t width) {
  uint64_t count;
  if (!read_number(reader, width, &count)) return false;
  out->kind = kind;
  out->size = (uint32_t)count;
  return true;
}

static bool give(tn__pack_item_t *out, tn__pack_kind_t kind, int64_t integer) {
  out->kind = kind;
  out->integer = integer;
  return true;
}

static bool read_ext_of_length(tn__pack_reader_t *reader, tn__pack_item_t *out, size_t width) {
  uint64_t size;
  return read_number(reader, width, &size) && read_ext(reader, out, size);
}

bool tn__pack_read(tn__pack_reader_t *reader, tn__pack_item_t *out) {
  const uint8_t *first = take(reader, 1);
  if (first == NULL) return false;
  const uint8_t code = *first;
  *out = (tn__pack_item_t){.kind = TN__PACK_NIL};
  if (code < 0x80) return give(out, TN__PACK_INT, code);
  if (code >= 0xe0) return give(out, TN__PACK_INT, (int8_t)code);
  if (code >= 0xa0 && code < 0xc0) return read_bytes(reader, out, TN__PACK_STR, code & 0x1f);
  if (code < 0xa0) {
    out->kind = code < 0x90 ? TN__PACK_MAP : TN__PACK_ARRAY;
    out->size = code & 0xf;
    return true;
  }
  switch (code) {
    case 0xc0: return true;
    case 0xc2: case 0xc3: return give(out, TN__PACK_BOOL, code & 1);
    case 0xc4: case 0xc5: case 0xc6: return read_sized(reader, out, TN__PACK_BIN, (size_t)1 << (code - 0xc4));
    case 0xc7: case 0xc8: case 0xc9: return read_ext_of_length(reader, out, (size_t)1 << (code - 0xc7));
    case 0xca: case 0xcb: return read_float(reader, out, code == 0xca ? 4 : 8);
    case 0xcc: case 0xcd: case 0xce: case 0xcf: return read_unsigned(reader, out, (size_t)1 << (code - 0xcc));
    case 0xd0: case 0xd1: case 0xd2: case 0xd3: return read_signed(reader, out, (size_t)1 << (code - 0xd0));
    case 0xd4: case 0xd5: case 0xd6: case 0xd7: case 0xd8: return read_ext(reader, out, (uint64_t)1 << (code - 0xd4));
    case 0xd9: case 0xda: case 0xdb: return read_sized(reader, out, TN__PACK_STR, (size_t)1 << (code - 0xd9));
    case 0xdc: case 0xdd: return read_count(reader, out, TN__PACK_ARRAY, code == 0xdc ? 2 : 4);
    case 0xde: case 0xdf: return read_count(reader, out, TN__PACK_MAP, code == 0xde ? 2 : 4);
    default: return false;
  }
}

/* --- writing -------------------------------------------------------------------------------------------------------- */

void tn__pack_free(tn__pack_writer_t *writer) {
  if (writer->is_own) free(writer->bytes);
  writer->is_own = false;
}

static bool grow(tn__pack_writer_t *writer, size_t size) {
  size_t capacity = writer->capacity < 256 ? 512 : 2 * writer->capacity;
  if (capacity < writer->used + size) capacity = writer->used + size;
  uint8_t *memory = size > SIZE_MAX / 4 ? NULL : realloc(writer->is_own ? writer->bytes : NULL, capacity);
  if (memory == NULL) {
    writer->has_failed = true;
    return false;
  }
  if (!writer->is_own && writer->used > 0) memcpy(memory, writer->bytes, writer->used);
  writer->bytes = memory;
  writer->capacity = capacity;
  writer->is_own = true;
  return true;
}

uint8_t *tn__pack_reserve(tn__pack_writer_t *writer, size_t size) {
  if (writer->has_failed || (size > writer->capacity - writer->used && !grow(writer, size))) return NULL;
  uint8_t *found = writer->bytes + writer->used;
  writer->used += size;
  return found;
}

void tn__pack_raw(tn__pack_writer_t *writer, const void *bytes, size_t size) {
  uint8_t *to = tn__pack_reserve(writer, size);
  if (to != NULL && size > 0) memcpy(to, bytes, size);
}

/* Writes a code and a number of `width` bytes in network order. */
static void put(tn__pack_writer_t *writer, uint8_t code, uint64_t value, size_t width) {
  uint8_t *to = tn__pack_reserve(writer, 1 + width);
  if (to == NULL) return;
  *to = code;
  for (size_t i = 0; i < width; i++) to[1 + i] = (uint8_t)(value >> 8 * (width - 1 - i));
}

void tn__pack_nil(tn__pack_writer_t *writer) { put(writer, 0xc0, 0, 0); }

void tn__pack_bool(tn__pack_writer_t *writer, bool value) { put(writer, value ? 0xc3 : 0xc2, 0, 0); }

void tn__pack_int(tn__pack_writer_t *writer, int64_t value) {
  if (value >= -32 && value < 128)
    put(writer, (uint8_t)value, 0, 0);
  else if (value >= INT32_MIN && value <= INT32_MAX)
    put(writer, 0xd2, (uint64_t)value, 4);
  else
    put(writer, 0xd3, (uint64_t)value, 8);
}

void tn__pack_float(tn__pack_writer_t *writer, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  put(writer, 0xcb, bits, 8);
}

/* MessagePack has sizes up to 32 bits. */
static bool fits(tn__pack_writer_t *writer, size_t size) {
  if (size <= UINT32_MAX) return true;
  writer->has_failed = true;
  return false;
}

void tn__pack_str(tn__pack_writer_t *writer, const char *text, size_t size) {
  if (!fits(writer, size)) return;
  if (size < 32)
    put(writer, (uint8_t)(0xa0 | size), 0, 0);
  else
    put(writer, 0xdb, size, 4);
  tn__pack_raw(writer, text, size);
}

void tn__pack_bin(tn__pack_writer_t *writer, const void *bytes, size_t size) {
  if (!fits(writer, size)) return;
  put(writer, 0xc6, size, 4);
  tn__pack_raw(writer, bytes, size);
}

void tn__pack_array(tn__pack_writer_t *writer, size_t count) {
  if (!fits(writer, count)) return;
  if (count < 16)
    put(writer, (uint8_t)(0x90 | count), 0, 0);
  else
    put(writer, 0xdd, count, 4);
}

void tn__pack_map(tn__pack_writer_t *writer, size_t count) {
  if (!fits(writer, count)) return;
  if (count < 16)
    put(writer, (uint8_t)(0x80 | count), 0, 0);
  else
    put(writer, 0xdf, count, 4);
}

void tn__pack_ext(tn__pack_writer_t *writer, int8_t type, size_t size) {
  if (!fits(writer, size)) return;
  put(writer, 0xc9, size, 4);
  tn__pack_raw(writer, &type, 1);
}
