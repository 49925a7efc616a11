/* Waking an event loop from any thread, with an eventfd on Linux and a pipe elsewhere. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/eventfd.h>
#endif

#include "base/event.h"
#include "base/status.h"

int32_t tn__event_open(tn__event_t *event) {
#if defined(__linux__)
  event->from = event->to = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  return tn__system(event->from, "eventfd()");
#else
  int ends[2];
  TN_TRY(tn__system(pipe(ends), "pipe()"));
  for (int i = 0; i < 2; i++) {
    fcntl(ends[i], F_SETFD, FD_CLOEXEC);
    fcntl(ends[i], F_SETFL, O_NONBLOCK);
  }
  event->from = ends[0];
  event->to = ends[1];
  return TN_OK;
#endif
}

/* A full pipe is readable too, so a write that fails is ignored. */
void tn__event_signal(tn__event_t *event) {
  const uint64_t one = 1;
  while (write(event->to, &one, sizeof one) < 0 && errno == EINTR) continue;
}

void tn__event_clear(tn__event_t *event) {
  uint64_t bytes[8];
  while (read(event->from, bytes, sizeof bytes) == (ssize_t)sizeof bytes) continue;
}

void tn__event_close(tn__event_t *event) {
  close(event->from);
  if (event->to != event->from) close(event->to);
}
