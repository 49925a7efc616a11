/* Functions that only asynchronous calls need. Windows lacks them, because Node can poll only sockets there. */
#include "../internal.h"

int tn__javascript_thread_on_end(void (*hook)(void *data), void *data) {
  (void)hook, (void)data;
  return 0;
}

int32_t tn__event_open(tn__event_t *event) {
  event->from = event->to = -1;
  return tn__fail(TN_UNSUPPORTED, "asynchronous calls are not supported on Windows");
}

void tn__event_signal(tn__event_t *event) { (void)event; }
void tn__event_clear(tn__event_t *event) { (void)event; }
void tn__event_close(tn__event_t *event) { (void)event; }

int32_t tn_watch_open(int32_t descriptor, int32_t *out) {
  (void)descriptor, (void)out;
  return tn__fail(TN_UNSUPPORTED, "descriptors cannot be watched on Windows");
}
