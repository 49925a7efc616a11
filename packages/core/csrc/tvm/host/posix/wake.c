/* Waking the event loop of a JavaScript thread, on POSIX, with a pipe instead of an eventfd: Node reads pipes
 * itself, and so survives the termination of a thread that still has bytes to read. */
#include "../wake.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int tn__wake_open(int ends[2]) {
  if (pipe(ends) != 0) return 0;
  for (int i = 0; i < 2; i++) {
    fcntl(ends[i], F_SETFD, FD_CLOEXEC);
    fcntl(ends[i], F_SETFL, O_NONBLOCK);
  }
  return 1;
}

/* A full pipe is readable already. A pipe without a reader wakes nobody; Node ignores SIGPIPE. */
void tn__wake(int to) {
  while (write(to, "", 1) < 0 && errno == EINTR) continue;
}

void tn__wake_close(int to) { close(to); }
