/* Text that a handler of signals writes: nothing is allocated. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

typedef struct {
  int file;
  size_t used;
  int has_failed;
  char bytes[1024];
} tn__text_t;

static inline void tn__text_flush(tn__text_t *text) {
  size_t done = 0;
  while (done < text->used && !text->has_failed) {
    const ssize_t count = write(text->file, text->bytes + done, text->used - done);
    if (count <= 0) text->has_failed = 1;
    else done += (size_t)count;
  }
  text->used = 0;
}

static inline void tn__text_byte(tn__text_t *text, char byte) {
  if (text->used == sizeof text->bytes) tn__text_flush(text);
  text->bytes[text->used++] = byte;
}

static inline void tn__text_add(tn__text_t *text, const char *added) {
  while (*added != '\0') tn__text_byte(text, *added++);
}

static inline void tn__text_number(tn__text_t *text, uint64_t number) {
  char digits[20];
  size_t count = 0;
  do digits[count++] = (char)('0' + number % 10);
  while ((number /= 10) != 0);
  while (count > 0) tn__text_byte(text, digits[--count]);
}

static inline void tn__text_signed(tn__text_t *text, int64_t number) {
  if (number < 0) tn__text_byte(text, '-');
  tn__text_number(text, number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
}

static inline void tn__text_hex(tn__text_t *text, uint64_t number) {
  tn__text_add(text, "0x");
  int shift = 60;
  while (shift > 0 && number >> shift == 0) shift -= 4;
  for (; shift >= 0; shift -= 4) tn__text_byte(text, "0123456789abcdef"[number >> shift & 15]);
}

static inline void tn__text_bytes(tn__text_t *text, const uint8_t *bytes, size_t size) {
  for (size_t i = 0; i < size; i++) {
    tn__text_byte(text, "0123456789abcdef"[bytes[i] >> 4]);
    tn__text_byte(text, "0123456789abcdef"[bytes[i] & 15]);
  }
}

/* Adds UTF-8 with ? for control characters, which a terminal would follow. */
static inline void tn__text_printable(tn__text_t *text, const char *added, size_t size) {
  for (size_t i = 0; i < size; i++) {
    const unsigned char byte = (unsigned char)added[i];
    /* U+0080 to U+009F */
    const int is_long = byte == 0xc2 && i + 1 < size && ((unsigned char)added[i + 1] & 0xe0) == 0x80;
    if (is_long) i++;
    tn__text_byte(text, is_long || byte < 0x20 || byte == 0x7f ? '?' : (char)byte);
  }
}

/* Adds a string of JSON. */
static inline void tn__text_quoted(tn__text_t *text, const char *added, size_t size) {
  tn__text_byte(text, '"');
  size_t start = 0;
  for (size_t i = 0; i < size; i++) {
    if (added[i] != '"' && added[i] != '\\') continue;
    tn__text_printable(text, added + start, i - start);
    tn__text_byte(text, '\\');
    tn__text_byte(text, added[i]);
    start = i + 1;
  }
  tn__text_printable(text, added + start, size - start);
  tn__text_byte(text, '"');
}

/* The part of a text up to its first newline, or all of it. */
static inline size_t tn__text_line(const char *text, size_t size) {
  const char *end = memchr(text, '\n', size);
  return end == NULL ? size : (size_t)(end - text);
}
