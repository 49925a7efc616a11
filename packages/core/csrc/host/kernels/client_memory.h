/* A range of shared memory of the client, which is mapped when it is first used. */
#ifndef TENON_HOST_CLIENT_MEMORY_H
#define TENON_HOST_CLIENT_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

typedef struct tn__memory {
  uint32_t id;
  int32_t descriptor; /* owned */
  uint64_t byte_size;
  bool may_write;      /* the client allows writes */
  bool is_writable;    /* it is mapped for writing */
  bool was_used;       /* since the search for a mapping to remove last passed it */
  uint64_t request;    /* the number of the last request that used it, during which it stays mapped */
  uint8_t *address;    /* null if it is not mapped */
} tn__memory_t;

#endif
