/* Calls that run without a parameter, which costs a sixth of a call of native code from JavaScript. JavaScript writes
 * the address of the call to a slot instead. */
#include <stdlib.h>

#include "internal.h"

typedef struct slot {
  void *call; /* first, because JavaScript has its address */
  struct slot *next;
} slot_t;

/* The slots of this thread, the last used first. Each copy of the package has one. */
static _Thread_local slot_t *slots;

static void free_slots(void *unused) {
  (void)unused;
  for (slot_t *next; slots != NULL; slots = next) {
    next = slots->next;
    free(slots);
  }
}

int32_t tn_xla_open_current(void ***out) {
  TN_REQUIRE(out != NULL, "out must not be null");
  slot_t *slot = calloc(1, sizeof *slot);
  if (slot == NULL) return tn__fail(TN_OUT_OF_MEMORY, "out of memory: cannot allocate the slot of a call");
  tn__javascript_thread_on_end(free_slots, NULL);
  slot->next = slots;
  slots = slot;
  *out = &slot->call;
  return TN_OK;
}

/* Returns the call selected by JavaScript, or null if none is selected. */
static void *take_current(void) {
  for (slot_t **at = &slots; *at != NULL; at = &(*at)->next) {
    slot_t *slot = *at;
    if (slot->call == NULL) continue;
    *at = slot->next;
    slot->next = slots;
    slots = slot;
    void *call = slot->call;
    slot->call = NULL;
    return call;
  }
  return NULL;
}

int32_t tn_xla_execute_current(void) { return tn_xla_execute(take_current()); }

int32_t tn_xla_execute_untyped_current(void) { return tn_xla_execute_untyped(take_current()); }
