/* Maps, in the layout of tvm-ffi's C++ code, so that each side can use the maps of the other. */
#pragma once

#include "internal.h"

typedef struct {
  TVMFFIAny key, value;
} tn__pair_t;

/* A map has two forms. In the small form `data` is an array of pairs, and `slots` is its length with the highest bit
 * set. In the dense form `data` is an array of blocks of 16 slots. Each slot has a byte of metadata: the head of a
 * chain (0xxxxxxx), a later member of a chain (1xxxxxxx), or free (all ones). The seven bits encode the distance to
 * the next member. Pairs are linked in the order of insertion. */
typedef struct {
  TVMFFIObject head;
  void *data;
  uint64_t size, slots;
  void (*data_deleter)(void *data); /* null if the data are part of the object */
  uint32_t shift;                   /* dense form: the number of low hash bits that do not select the slot */
  uint32_t changes;                 /* of the entries, by this library: unused space in the layout of C++ code */
  uint64_t first, last;
} tn__map_t;

_Static_assert(sizeof(void *) != 8 || sizeof(tn__map_t) == 80, "the layout of maps is part of the ABI");

/* An empty map of type Map or Dict with room for `count` entries; null without memory. */
tn__map_t *tn__map_new(int32_t type_index, uint64_t count);

tn__pair_t *tn__map_find(const tn__map_t *map, const TVMFFIAny *key);

/* Sets the value of a key and takes ownership of both. False without memory; then the caller still owns both. */
bool tn__map_set(tn__map_t *map, TVMFFIAny key, TVMFFIAny value);

void tn__map_erase(tn__map_t *map, const TVMFFIAny *key);

/* Removes all entries. They are destroyed when the map is empty already, because destructors may use it. False without
 * memory for the empty map. */
bool tn__map_clear(tn__map_t *map);

/* Iteration: the first position, the next one, and the pair at one. TN_MAP_END follows the last position. */
#define TN_MAP_END UINT64_MAX
uint64_t tn__map_begin(const tn__map_t *map);
uint64_t tn__map_next(const tn__map_t *map, uint64_t position);
/* Whether there is an entry at a position, which may be that of an entry that was erased. */
bool tn__map_has(const tn__map_t *map, uint64_t position);
tn__pair_t *tn__map_pair(const tn__map_t *map, uint64_t position);
