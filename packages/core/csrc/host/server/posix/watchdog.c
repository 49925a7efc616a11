/* The thread that watches the client: it ends the process when the client is gone, or when a call has outlived its deadline
 * by so far that the client must have stopped, and it empties the pipes of stdout and stderr. */
#include "base/thread.h"
#include "tenon_host.h"

#if defined(__linux__)
#include <poll.h>

#include "server.h"

/* The time after the deadline and the grace of a call at which the client has obviously stopped, in ns. */
#define SLACK 5000000000u

/* The interval at which the deadline is looked at, in ms. */
#define INTERVAL 1000

static bool is_overdue(void) {
  tn_host_header_t *header = tn__host_header();
  const uint64_t deadline = *TN__LONG(&header->deadline);
  if (*TN__WORD(&header->phase) == TN_HOST_IDLE || deadline == UINT64_MAX) return false;
  const uint64_t now = tn__host_now();
  /* Without an overflow, because there are graces without an end. */
  return now > deadline && now - deadline > SLACK && now - deadline - SLACK > header->grace;
}

static void watch(void *data) {
  (void)data;
  const bool captures = (tn__host_header()->flags & TN_HOST_CAPTURE) != 0;
  struct pollfd entries[] = {
      /* Hanging up is always reported. The socket's messages are for the main thread. */
      {.fd = TN_HOST_CONTROL, .events = POLLRDHUP},
      {.fd = captures ? TN_HOST_STDOUT : -1, .events = POLLIN},
      {.fd = captures ? TN_HOST_STDERR : -1, .events = POLLIN},
  };
  for (;;) {
    if (poll(entries, 3, INTERVAL) < 0 && errno != EINTR) break;
    if (entries[0].revents != 0) break;
    if (is_overdue()) {
      *TN__WORD(&tn__host_header()->crash_kind) = 3;
      break;
    }
    if (((entries[1].revents | entries[2].revents) & POLLIN) != 0) tn__host_move_output();
    /* A kernel that closes all its ends of a pipe would make poll() return at once for ever. */
    for (int i = 1; i <= 2; i++)
      if ((entries[i].revents & ~POLLIN) != 0 && (entries[i].revents & POLLIN) == 0) entries[i].fd = -1;
  }
  syscall(SYS_exit_group, 1);
}

int32_t tn__host_watch(void) {
  static const tn__thread_t thread = {.run = watch};
  if (tn__thread_start(&thread)) return TN_OK;
  return tn__fail(TN_SYSTEM, "cannot start the watchdog");
}
#endif
