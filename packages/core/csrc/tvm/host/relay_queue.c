/* The queue of calls from other threads: opened once for a stack, closed when its thread ends. */
#include <stdlib.h>

#include "relay.h"
#include "wake.h"

int32_t tn_packed_relay_open(tn_packed_stack_t *stack, int32_t *descriptor) {
  struct tn__relay *relay = calloc(1, sizeof *relay);
  if (relay == NULL) return TN_OUT_OF_MEMORY;
  int ends[2];
  if (!tn__wake_open(ends)) {
    free(relay);
    return TN_UNSUPPORTED;
  }
  *relay = (struct tn__relay){.lock = TN__LOCK, .settled = TN__CONDITION, .wake = ends[1], .last = &relay->first};
  *descriptor = ends[0];
  stack->relay = relay;
  return TN_OK;
}

void tn_packed_relay_close(tn_packed_stack_t *stack) {
  struct tn__relay *relay = stack->relay;
  if (relay == NULL) return;
  tn__lock(&relay->lock);
  if (!relay->closed) {
    relay->closed = true;
    tn__wake_close(relay->wake);
    tn__wake_all(&relay->settled);
  }
  tn__unlock(&relay->lock);
}
