/* Tables of address ranges that the handlers of signals search. */
#include "signal_ranges.h"

#include <stdlib.h>

#define PLACES 256

/* Never freed, because a handler may be searching it. */
struct tn__range_block {
  tn__range_block_t *next; /* set before the block is published */
  tn__range_t ranges[PLACES];
};

/* Ranges start at pages, which have at least 4096 bytes. */
static tn__range_t **bucket_of(tn__ranges_t *table, uintptr_t start) {
  return &table->buckets[(start >> 12) % TN__RANGE_BUCKETS];
}

/* The lock is held. */
static tn__range_t *take(tn__ranges_t *table) {
  if (table->unused == NULL) {
    tn__range_block_t *block = calloc(1, sizeof *block);
    if (block == NULL) return NULL;
    for (size_t i = 0; i < PLACES; i++) {
      block->ranges[i].version = 1;
      block->ranges[i].next = table->unused;
      table->unused = &block->ranges[i];
    }
    block->next = table->blocks;
    table->blocks = block;
  }
  tn__range_t *range = table->unused;
  table->unused = range->next;
  return range;
}

int tn__ranges_add(tn__ranges_t *table, const tn__range_copy_t *fields, const char *name, size_t name_length) {
  tn__lock(&table->lock);
  tn__range_t *range = take(table);
  if (range != NULL) {
    range->start = fields->start;
    range->end = fields->end;
    range->part_start = fields->part_start;
    range->part_size = fields->part_size;
    range->record = NULL;
    size_t length = name_length < TN__RANGE_NAME ? name_length : TN__RANGE_NAME - 1;
    for (size_t i = 0; i < length; i++) range->name[i] = name[i];
    range->name[length] = 0;
    range->next = *bucket_of(table, fields->start);
    *bucket_of(table, fields->start) = range;
    range->version++;
  }
  tn__unlock(&table->lock);
  return range != NULL;
}

void tn__ranges_remove(tn__ranges_t *table, uintptr_t start) {
  tn__lock(&table->lock);
  tn__range_t **link = bucket_of(table, start);
  while (*link != NULL && (*link)->start != start) link = &(*link)->next;
  tn__range_t *range = *link;
  if (range != NULL) {
    *link = range->next;
    range->version++;
    range->next = table->unused;
    table->unused = range;
  }
  tn__unlock(&table->lock);
}

/* Copies an entry. Returns 0 if it is unused or changed meanwhile, because then it is not the range of a live mapping. */
static int copy(const tn__range_t *range, tn__range_copy_t *out) {
  uint32_t version = range->version;
  if (version % 2 != 0) return 0;
  out->start = range->start;
  out->end = range->end;
  out->part_start = range->part_start;
  out->part_size = range->part_size;
  for (size_t i = 0; i < TN__RANGE_NAME; i++) out->name[i] = range->name[i];
  return range->version == version;
}

int tn__ranges_find(const tn__ranges_t *table, uintptr_t address, tn__range_copy_t *out) {
  for (const tn__range_block_t *block = table->blocks; block != NULL; block = block->next)
    for (const tn__range_t *range = block->ranges; range < block->ranges + PLACES; range++) {
      if (address < range->start || address >= range->end || !copy(range, out)) continue;
      if (address < out->start || address >= out->end) continue;
      out->range = (tn__range_t *)range;
      return 1;
    }
  return 0;
}
