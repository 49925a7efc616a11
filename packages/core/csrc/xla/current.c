/* Calls that are run without a parameter, which is a sixth of what it costs to call native code from JavaScript: whoever runs
 * them writes which call it means to a place of its own. */
#include <stdlib.h>

#include "internal.h"

typedef struct place {
  void *call; /* first: its address is what JavaScript has */
  struct place *next;
} place_t;

/* Of this thread, the last used first. There are several if several copies of the package are loaded. */
static _Thread_local place_t *places;

static void free_places(void *unused) {
  (void)unused;
  while (places != NULL) {
    place_t *next = places->next;
    free(places);
    places = next;
  }
}

int32_t tn_xla_open_current(void ***out) {
  if (out == NULL) return tn__fail(TN_INVALID_ARGUMENT, "out must not be null");
  place_t *place = calloc(1, sizeof *place);
  if (place == NULL) return tn__fail(TN_OUT_OF_MEMORY, "no memory for the place of a call");
  tn__environment_on_end(free_places, NULL);
  place->next = places;
  places = place;
  *out = &place->call;
  return TN_OK;
}

/* The call that is meant. Who means none has an empty place. */
static void *take_current(void) {
  for (place_t **at = &places; *at != NULL; at = &(*at)->next) {
    place_t *place = *at;
    if (place->call == NULL) continue;
    *at = place->next;
    place->next = places;
    places = place;
    void *call = place->call;
    place->call = NULL;
    return call;
  }
  return NULL;
}

int32_t tn_xla_execute_current(void) { return tn_xla_execute(take_current()); }

int32_t tn_xla_execute_untyped_current(void) { return tn_xla_execute_untyped(take_current()); }
