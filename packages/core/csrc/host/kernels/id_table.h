/* A map from the ids of a client to objects. */
#ifndef TENON_HOST_ID_TABLE_H
#define TENON_HOST_ID_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
  uint32_t id;
  void *value; /* null for a free place */
} tn__id_entry_t;

/* All zeroes is an empty table. */
typedef struct {
  tn__id_entry_t *entries;
  size_t capacity; /* 0, or a power of two that is at least twice the count */
  size_t count;
} tn__id_table_t;

void *tn__id_find(const tn__id_table_t *table, uint32_t id);

/* Adds a value, which is not null, under an id that is not in the table. False without memory. */
bool tn__id_add(tn__id_table_t *table, uint32_t id, void *value);

/* Removes an id and returns its value, or null if it is not in the table. */
void *tn__id_remove(tn__id_table_t *table, uint32_t id);

#endif
