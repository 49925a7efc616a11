/* Maps: the layout that C++ code of tvm-ffi reads and writes, so maps of either side work on the other. */
#ifndef TENON_TVM_MAP_H
#define TENON_TVM_MAP_H

#include "internal.h"

typedef struct {
  TVMFFIAny key, value;
} tn__pair_t;

/* A map has two forms. Small: `data` is an array of pairs, `slots` its length with the highest bit set. Dense:
 * `data` is an array of blocks of 16 slots, each slot with a byte of its own: the head of a chain (0xxxxxxx), a
 * later member (1xxxxxxx), or free (all ones); the seven bits say how far away the next member is. Pairs form a list
 * in order. */
typedef struct {
  TVMFFIObject head;
  void *data;
  uint64_t size, slots;
  void (*data_deleter)(void *data); /* null if the data lie in the object */
  uint32_t shift;                   /* of the dense form: the hash's upper bits are the slot */
  uint64_t first, last;
} tn__map_t;

_Static_assert(sizeof(void *) != 8 || sizeof(tn__map_t) == 80, "the layout of maps");

/* An empty map of type Map or Dict with room for `count` entries; null without memory. */
tn__map_t *tn__map_new(int32_t type_index, uint64_t count);

/* The pair of a key, or null. */
tn__pair_t *tn__map_find(const tn__map_t *map, const TVMFFIAny *key);

/* Sets the value of a key; takes over both. False without memory, and then both are still the caller's. */
bool tn__map_set(tn__map_t *map, TVMFFIAny key, TVMFFIAny value);

/* Takes a key out. */
void tn__map_erase(tn__map_t *map, const TVMFFIAny *key);
void tn__map_clear(tn__map_t *map);

/* Iteration: the first position, the one after, and the pair at one. TN_MAP_END after the last. */
#define TN_MAP_END UINT64_MAX
uint64_t tn__map_begin(const tn__map_t *map);
uint64_t tn__map_next(const tn__map_t *map, uint64_t position);
tn__pair_t *tn__map_pair(const tn__map_t *map, uint64_t position);

#endif
