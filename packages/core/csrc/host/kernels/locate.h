/* Where an address lies: for the record of a crash. */
#ifndef TENON_HOST_LOCATE_H
#define TENON_HOST_LOCATE_H

#include <stdbool.h>
#include <stdint.h>

/* Faults at this distance of a memory are reported with it. */
#define TN__NEAR 65536

typedef struct {
  uint32_t operand; /* of the request in progress; UINT32_MAX if the address is not in or beside one */
  uint32_t memory;  /* the id of a memory; UINT32_MAX if the address is not in or beside one */
  int64_t offset;   /* of the address from the start of the operand, or without an operand from that of the memory */
} tn__host_place_t;

/* Finds the operand or the memory at an address. False if it is not near either. Handlers of signals call it. */
bool tn__host_locate(uint64_t address, tn__host_place_t *out);

#endif
