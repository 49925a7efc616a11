/* Functions that Windows lacks: those that only asynchronous calls need, because Node can poll only sockets there, and
 * guarded pages; and those that it does not need. */
#include "base/event.h"
#include "base/stacks.h"
#include "base/status.h"
#include "base/thread.h"

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

int32_t tn__stacks_after_load(void *library) {
  (void)library;
  return TN_OK;
}

bool tn__has_free_stack(size_t byte_size) {
  (void)byte_size;
  return false;
}

int32_t tn_watch_open(int32_t descriptor, int32_t *out) {
  (void)descriptor, (void)out;
  return tn__fail(TN_UNSUPPORTED, "descriptors cannot be watched on Windows");
}

int32_t tn_guarded_open(size_t byte_size, size_t byte_alignment, uint64_t most, const char *name, size_t name_length,
                        uint64_t *out) {
  (void)byte_size, (void)byte_alignment, (void)most, (void)name, (void)name_length, (void)out;
  return tn__fail(TN_UNSUPPORTED, "guarded pages are not supported on Windows");
}

void tn_guarded_check(const tn_guarded_t *block, uint64_t *out) { (void)block, (void)out; }
void tn_guarded_free(tn_guarded_t *block) { (void)block; }
uint64_t tn_guarded_count(void) { return 0; }

int32_t tn_crash_prepare(void) { return tn__fail(TN_UNSUPPORTED, "crashes are not recorded on Windows"); }

void tn_crash_record(int32_t number, const void *info, void *context, tn_crash_t *out) {
  (void)number, (void)info, (void)context, (void)out;
}

uint64_t tn_modules_write(uint8_t *out, uint64_t capacity) {
  (void)out, (void)capacity;
  return 0;
}
