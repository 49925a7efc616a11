/* Watching a descriptor for a thread of JavaScript that may end at any moment. Each watch has a thread that writes to a
 * socket, and ends when the other end of the socket is closed. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/socket.h"
#include "base/thread.h"

typedef struct {
  tn__thread_t thread;
  int watched; /* a duplicate of the descriptor */
  int socket;  /* the end of this thread */
} watch_t;

static void end_watch(watch_t *watch) {
  close(watch->watched);
  close(watch->socket);
  free(watch);
}

/* Writes a byte when the descriptor is readable, and each next one only after the other end has sent a byte. */
static void run(void *data) {
  watch_t *watch = data;
  for (int is_asked = 1;;) {
    /* poll() ignores negative descriptors. */
    struct pollfd polled[2] = {{.fd = watch->socket, .events = POLLIN},
                               {.fd = is_asked ? watch->watched : -1, .events = POLLIN}};
    char byte = 1;
    if (poll(polled, 2, -1) < 0) {
      if (errno == EINTR) continue;
      break;
    }
    if (polled[0].revents != 0) {
      const ssize_t got = recv(watch->socket, &byte, 1, 0);
      if (got == 0 || (got < 0 && errno != EINTR)) break;
      is_asked = 1;
    } else if (polled[1].revents != 0) {
      if (send(watch->socket, &byte, 1, MSG_NOSIGNAL) != 1) break;
      is_asked = 0;
    }
  }
  end_watch(watch);
}

int32_t tn_watch_open(int32_t descriptor, int32_t *out) {
  TN_REQUIRE(out != NULL, "out must not be null");
  int32_t ends[2];
  TN_TRY(tn__socket_pair(SOCK_STREAM, 0, ends));
  watch_t *watch = malloc(sizeof *watch);
  if (watch == NULL) {
    close(ends[0]);
    close(ends[1]);
    return tn__fail(TN_OUT_OF_MEMORY, "out of memory: cannot allocate a watch");
  }
  *watch = (watch_t){.thread = {run, watch}, .watched = fcntl(descriptor, F_DUPFD_CLOEXEC, 0), .socket = ends[1]};
  if (watch->watched >= 0 && tn__thread_start(&watch->thread)) {
    *out = ends[0];
    return TN_OK;
  }
  if (watch->watched < 0) tn__fail(TN_SYSTEM, "descriptor %d could not be duplicated: error %d", descriptor, errno);
  else tn__fail(TN_SYSTEM, "a thread could not be started");
  end_watch(watch);
  close(ends[0]);
  return TN_SYSTEM;
}
