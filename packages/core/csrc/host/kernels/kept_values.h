/* Results that do not fit into an answer, which the client fetches in parts. */
#ifndef TENON_HOST_KEPT_VALUES_H
#define TENON_HOST_KEPT_VALUES_H

#include "packed_runtime.h"
#include "request.h"

typedef struct {
  const uint8_t *bytes;
  size_t size;
  void *memory;              /* owned: of malloc(), or null */
  TVMFFIObjectHandle object; /* owned: the tensor that owns the bytes, or null */
} tn__part_t;

/* A kept value. Part 0 is the encoded result, which is empty unless it is too long for the answer. */
typedef struct {
  tn__part_t *parts;
  size_t count, capacity;
} tn__kept_t;

/* Adds a part, which is owned by the value from here on, also if it fails. Returns its number, or 0 without memory. */
uint32_t tn__kept_add(tn__kept_t *kept, tn__part_t part);

/* Releases the parts of a value that is not kept. */
void tn__kept_clear(tn__kept_t *kept);

/* Keeps a value, and takes it over. Returns its id, or 0 without memory. */
uint32_t tn__keep(tn__kept_t *kept);

/* Keeps a value whose encoded result does not fit into the answer, and answers with its size. Takes the value over, and frees `bytes`,
 * which are of malloc(), also if it fails. */
int32_t tn__answer_long(tn__request_t *request, tn__kept_t *kept, uint8_t *bytes, uint64_t size);

int32_t tn__serve_fetch(tn__request_t *request);
int32_t tn__serve_release_value(tn__request_t *request);

#endif
