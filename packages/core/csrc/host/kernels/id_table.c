#include "id_table.h"

#include <stdlib.h>

/* Ids are numbers in a row more often than not, so that they are their own hashes. */
static size_t place_of(const tn__id_table_t *table, uint32_t id) {
  size_t place = id & (table->capacity - 1);
  while (table->entries[place].value != NULL && table->entries[place].id != id)
    place = (place + 1) & (table->capacity - 1);
  return place;
}

void *tn__id_find(const tn__id_table_t *table, uint32_t id) {
  return table->count == 0 ? NULL : table->entries[place_of(table, id)].value;
}

static bool grow(tn__id_table_t *table) {
  tn__id_table_t larger = {.capacity = table->capacity == 0 ? 16 : 2 * table->capacity, .count = table->count};
  larger.entries = calloc(larger.capacity, sizeof *larger.entries);
  if (larger.entries == NULL) return false;
  for (size_t i = 0; i < table->capacity; i++) {
    const tn__id_entry_t entry = table->entries[i];
    if (entry.value != NULL) larger.entries[place_of(&larger, entry.id)] = entry;
  }
  free(table->entries);
  *table = larger;
  return true;
}

bool tn__id_add(tn__id_table_t *table, uint32_t id, void *value) {
  if (2 * (table->count + 1) > table->capacity && !grow(table)) return false;
  table->entries[place_of(table, id)] = (tn__id_entry_t){id, value};
  table->count++;
  return true;
}

void *tn__id_remove(tn__id_table_t *table, uint32_t id) {
  if (table->count == 0) return NULL;
  const size_t mask = table->capacity - 1;
  size_t hole = place_of(table, id);
  void *removed = table->entries[hole].value;
  if (removed == NULL) return NULL;
  table->count--;
  /* Moves entries up that were pushed past the hole, so that searches do not end there. */
  for (size_t i = (hole + 1) & mask; table->entries[i].value != NULL; i = (i + 1) & mask) {
    const size_t wanted = table->entries[i].id & mask;
    if (((i - wanted) & mask) < ((i - hole) & mask)) continue;
    table->entries[hole] = table->entries[i];
    hole = i;
  }
  table->entries[hole] = (tn__id_entry_t){0, NULL};
  return removed;
}
