/* The memories of a client: ranges of shared memory, which are mapped when they are first used. */
#ifndef TENON_HOST_MEMORIES_H
#define TENON_HOST_MEMORIES_H

#include "client_memory.h"
#include "request.h"

/* The memories that are mapped at the same time. */
#define TN__MAPPED_MEMORIES 1024

/* Turns guard mode on or off, before the first request. */
void tn__memories_guard(bool is_on);

int32_t tn__serve_memory(tn__request_t *request);
int32_t tn__serve_release_memory(tn__request_t *request);

/* How a range of memory is reached. */
typedef enum {
  TN__REACH_READ,    /* by the host itself */
  TN__REACH_OPERAND, /* by a kernel: in guard mode with exact bounds, and writable unless TN_HOST_READ_ONLY is set */
} tn__reach_t;

/* Stores the address of a range of memory, which is valid until the next request, and which is null if TN_HOST_NULL is set.
 * Refuses the request if the memory does not have the range. */
int32_t tn__reach(tn__request_t *request, const tn_host_operand_t *range, tn__reach_t how, uint8_t **out);

/* Stores the addresses of all operands of a request. */
int32_t tn__reach_operands(tn__request_t *request);

/* The memory that is mapped at an address, or at most `distance` bytes beside it; null if there is none. Handlers of
 * signals call it. */
const tn__memory_t *tn__memory_near(uint64_t address, uint64_t distance);

#endif
