/* A map from text to pointers that keeps the order of insertion: open addressing over a growing array of entries. */
#include <stdlib.h>

#include "internal.h"

#define FIRST_CAPACITY 32

/* The slot of a key, or the free slot for it. The table is never full. */
static size_t slot_of(const tn__names_t *names, TVMFFIByteArray key, uint64_t hash) {
  size_t mask = names->capacity * 2 - 1;
  for (size_t slot = hash & mask;; slot = (slot + 1) & mask) {
    uint32_t place = names->slots[slot];
    if (place == 0) return slot;
    const tn__name_t *entry = &names->entries[place - 1];
    if (entry->key != NULL && entry->hash == hash && tn__same((TVMFFIByteArray){entry->key, entry->key_size}, key))
      return slot;
  }
}

/* Moves the live entries into arrays of `capacity`, a power of two. */
static bool resize(tn__names_t *names, size_t capacity) {
  tn__name_t *entries = calloc(capacity, sizeof *entries);
  uint32_t *slots = calloc(capacity * 2, sizeof *slots);
  if (entries == NULL || slots == NULL) {
    free(entries);
    free(slots);
    return false;
  }
  size_t used = 0;
  size_t mask = capacity * 2 - 1;
  for (size_t i = 0; i < names->used; i++) {
    if (names->entries[i].key == NULL) continue;
    entries[used] = names->entries[i];
    size_t slot = entries[used].hash & mask;
    while (slots[slot] != 0) slot = (slot + 1) & mask;
    slots[slot] = (uint32_t)++used;
  }
  free(names->entries);
  free(names->slots);
  *names = (tn__names_t){entries, used, capacity, used, slots};
  return true;
}

static tn__name_t *find(const tn__names_t *names, TVMFFIByteArray key) {
  if (names->capacity == 0) return NULL;
  uint32_t place = names->slots[slot_of(names, key, tn__hash(key))];
  return place == 0 ? NULL : &names->entries[place - 1];
}

void *tn__names_get(const tn__names_t *names, TVMFFIByteArray key) {
  const tn__name_t *entry = find(names, key);
  return entry == NULL ? NULL : entry->value;
}

void **tn__names_add(tn__names_t *names, TVMFFIByteArray key) {
  tn__name_t *entry = find(names, key);
  if (entry != NULL) return &entry->value;
  if (names->used == names->capacity) {
    /* Grows only if removing the dead entries does not make enough room. */
    size_t capacity = names->capacity == 0 ? FIRST_CAPACITY : names->capacity;
    if (names->live * 2 > capacity) capacity *= 2;
    if (capacity > UINT32_MAX / 2 || !resize(names, capacity)) return NULL;
  }
  char *copy = tn__duplicate(key);
  if (copy == NULL) return NULL;
  uint64_t hash = tn__hash(key);
  entry = &names->entries[names->used];
  size_t slot = slot_of(names, key, hash);
  *entry = (tn__name_t){copy, key.size, hash, NULL};
  names->slots[slot] = (uint32_t)++names->used;
  names->live++;
  return &entry->value;
}

void *tn__names_remove(tn__names_t *names, TVMFFIByteArray key) {
  tn__name_t *entry = find(names, key);
  if (entry == NULL) return NULL;
  /* The slot stays occupied, so that searches for other keys continue past it. */
  void *value = entry->value;
  free(entry->key);
  entry->key = NULL;
  entry->value = NULL;
  names->live--;
  return value;
}
