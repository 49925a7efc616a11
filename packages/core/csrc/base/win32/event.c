/* Waking an event loop from any thread. Node can poll sockets only on Windows, so events are not supported. */
#include "../internal.h"

int32_t tn__event_open(tn__event_t *event) {
  event->from = event->to = -1;
  return tn__fail(TN_UNSUPPORTED, "asynchronous calls are not supported on Windows");
}

void tn__event_signal(tn__event_t *event) { (void)event; }
void tn__event_clear(tn__event_t *event) { (void)event; }
void tn__event_close(tn__event_t *event) { (void)event; }
