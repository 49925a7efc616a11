/* Spans of text: hashes and copies. */
#include <stdio.h>
#include <stdlib.h>

#include "internal.h"

uint64_t tn__hash(TVMFFIByteArray span) {
  /* A polynomial over little-endian words modulo a Mersenne prime; the last word is padded with zeros. */
  const uint64_t multiplier = 1099511628211u, modulus = 2147483647u;
  uint64_t hash = 0;
  for (size_t at = 0; at < span.size; at += 8) {
    uint64_t word = 0;
    memcpy(&word, span.data + at, span.size - at < 8 ? span.size - at : 8);
    hash = (hash * multiplier + word) % modulus;
  }
  return hash;
}

char *tn__join(const char *first, const char *second, const char *third) {
  const size_t size = strlen(first) + strlen(second) + strlen(third) + 1;
  char *text = malloc(size);
  if (text != NULL) snprintf(text, size, "%s%s%s", first, second, third);
  return text;
}

char *tn__duplicate(TVMFFIByteArray span) {
  char *copy = malloc(span.size + 1);
  if (copy == NULL) return NULL;
  if (span.size > 0) memcpy(copy, span.data, span.size);
  copy[span.size] = '\0';
  return copy;
}
