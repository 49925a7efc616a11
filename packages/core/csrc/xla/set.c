/* A set of pointers: an intrusive hash table of fixed size, for few objects. */
#include "internal.h"

static size_t bucket_of(const void *pointer) { return ((uintptr_t)pointer >> 4) % 64; }

void tn__xla_set_add(tn__xla_set_t *set, tn__xla_member_t *member) {
  tn__xla_member_t **place = &set->buckets[bucket_of(member)];
  member->next = *place;
  *place = member;
  set->count++;
}

int tn__xla_set_remove(tn__xla_set_t *set, const void *pointer) {
  tn__xla_member_t **place = &set->buckets[bucket_of(pointer)];
  while (*place != NULL && *place != pointer) place = &(*place)->next;
  if (*place == NULL) return 0;
  *place = (*place)->next;
  set->count--;
  return 1;
}

int tn__xla_set_has(const tn__xla_set_t *set, const void *pointer) {
  const tn__xla_member_t *member = set->buckets[bucket_of(pointer)];
  while (member != NULL && member != pointer) member = member->next;
  return member != NULL;
}

size_t tn__xla_set_count(const tn__xla_set_t *set, tn__lock_t *lock) {
  tn__lock(lock);
  const size_t count = set->count;
  tn__unlock(lock);
  return count;
}
