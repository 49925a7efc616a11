/* The table of what threads own. A thread of JavaScript that is terminated stops between any two native calls. So whatever
 * opens a descriptor for JavaScript notes it in the same call, and whatever closes it forgets it in the same call. */
#include "base/owned.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/lock.h"

#define BUCKETS 1024

/* Guards all of the table, because a thread may close what another one has opened. */
static tn__lock_t lock = TN__LOCK;
static tn__owned_t *buckets[BUCKETS];
static _Atomic size_t owned_count;

/* Its address identifies the thread. */
static _Thread_local bool owns;

/* Descriptors are small numbers, and mappings begin at pages of at least 4096 bytes. */
static tn__owned_t **bucket_of(uintptr_t key) { return &buckets[(key ^ key >> 12) % BUCKETS]; }

void tn__owned_begin(void) { owns = true; }

bool tn__owned_has_begun(void) { return owns; }

static void forget(uintptr_t key, bool is_mapping) {
  if (owned_count == 0) return;
  tn__owned_t *found = NULL;
  tn__lock(&lock);
  for (tn__owned_t **at = bucket_of(key); *at != NULL; at = &(*at)->next) {
    if ((*at)->key != key || ((*at)->byte_size != 0) != is_mapping) continue;
    found = *at;
    *at = found->next;
    owned_count--;
    break;
  }
  tn__unlock(&lock);
  free(found);
}

static void note(uintptr_t key, size_t byte_size) {
  /* A note with this key is one of something that was closed by other means. */
  forget(key, byte_size != 0);
  tn__owned_t *noted = owns ? malloc(sizeof *noted) : NULL;
  if (noted == NULL) return;
  tn__lock(&lock);
  tn__owned_t **bucket = bucket_of(key);
  *noted = (tn__owned_t){*bucket, &owns, key, byte_size};
  *bucket = noted;
  owned_count++;
  tn__unlock(&lock);
}

void tn__owned_note_descriptor(int32_t descriptor) { note((uintptr_t)descriptor, 0); }

void tn__owned_note_mapping(const void *address, size_t byte_size) { note((uintptr_t)address, byte_size); }

void tn__owned_forget_descriptor(int32_t descriptor) {
  if (descriptor >= 0) forget((uintptr_t)descriptor, false);
}

void tn__owned_forget_mapping(const void *address) { forget((uintptr_t)address, true); }

tn__owned_t *tn__owned_take_all(void) {
  tn__owned_t *all = NULL;
  tn__lock(&lock);
  for (size_t i = 0; i < BUCKETS; i++)
    for (tn__owned_t **at = &buckets[i]; *at != NULL;) {
      tn__owned_t *owned = *at;
      if (owned->owner != &owns) {
        at = &owned->next;
        continue;
      }
      *at = owned->next;
      owned->next = all;
      all = owned;
      owned_count--;
    }
  tn__unlock(&lock);
  owns = false;
  return all;
}
