/* Tables of address ranges that the handlers of signals search. A handler cannot lock, so entries are never freed, and each
 * has a version, by which a handler notices that the entry changed while it was read. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/lock.h"

#define TN__RANGE_NAME 96

/* An entry. The owner of the table reads all fields under the table's lock; handlers read copies. */
typedef struct tn__range {
  _Atomic uint32_t version; /* odd while the entry changes, and while it is unused */
  _Atomic uintptr_t start;
  _Atomic uintptr_t end;
  _Atomic uintptr_t part_start; /* the part of the range that `name` describes */
  _Atomic size_t part_size;
  _Atomic(void *) record; /* owned by the user of the table; null in a new entry */
  _Atomic char name[TN__RANGE_NAME]; /* NUL-terminated */
  struct tn__range *next; /* unused entries, or used ones of the same bucket */
} tn__range_t;

typedef struct tn__range_block tn__range_block_t;

#define TN__RANGE_BUCKETS 4096

/* A table. Zeroed memory with TN__LOCK is an empty one. */
typedef struct tn__ranges {
  tn__lock_t lock;
  _Atomic(tn__range_block_t *) blocks;
  tn__range_t *unused;
  tn__range_t *buckets[TN__RANGE_BUCKETS]; /* by start */
} tn__ranges_t;

/* A consistent copy of an entry. */
typedef struct tn__range_copy {
  tn__range_t *range;
  uintptr_t start, end, part_start;
  size_t part_size;
  char name[TN__RANGE_NAME];
} tn__range_copy_t;

/* Adds a range, of which the fields besides version and record are given, and `name_length` bytes of a name, which is cut.
 * Returns 0 without memory. */
int tn__ranges_add(tn__ranges_t *table, const tn__range_copy_t *range, const char *name, size_t name_length);

/* Removes the range that starts at `start`, if there is one. */
void tn__ranges_remove(tn__ranges_t *table, uintptr_t start);

/* Copies the range that contains an address. Returns 0 if there is none. Handlers may call it; it does not lock. */
int tn__ranges_find(const tn__ranges_t *table, uintptr_t address, tn__range_copy_t *out);
