/* Guard mode: each operand of a kernel is mapped alone, between pages without access. */
#ifndef TENON_HOST_GUARD_WINDOWS_H
#define TENON_HOST_GUARD_WINDOWS_H

#include "client_memory.h"
#include "request.h"

/* The windows that are kept for the next requests, which is also the number that one request can use. */
#define TN__WINDOWS 256

/* The size of the pages without access on each side of a window, which is a multiple of every page size. */
#define TN__WINDOW_MARGIN 65536

typedef struct {
  uint64_t offset, length; /* within the memory */
  bool writes;
} tn__range_t;

typedef struct tn__window {
  const tn__memory_t *memory; /* null for a free window */
  uint32_t id;                /* of the memory */
  tn__range_t range;
  uint8_t *start; /* of the pages, with the margin before them */
  size_t size;    /* of the pages, with both margins */
  uint8_t *data;  /* the first byte of the range */
  uint64_t request; /* the number of the last request that used it */
  bool was_used;
} tn__window_t;

/* Stores the address of a range, which the memory has, in a window of its own. */
int32_t tn__window_open(tn__request_t *request, const tn__memory_t *memory, const tn__range_t *range, uint8_t **out);

/* Closes all windows of a memory. */
void tn__windows_close(const tn__memory_t *memory);

/* The window that contains an address, with its margins; null if there is none. Handlers of signals call it. */
const tn__window_t *tn__window_at(uint64_t address);

#endif
