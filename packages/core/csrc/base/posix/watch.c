/* Watching a descriptor for a thread of JavaScript that may end at any moment: a socket tells it, which it may close, or
 * lose, whenever it likes. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "socket.h"

typedef struct {
  tn__thread_t thread;
  int watched; /* our own duplicate */
  int teller;  /* our end of the socket */
} watch_t;

static void end_watch(watch_t *watch) {
  close(watch->watched);
  close(watch->teller);
  free(watch);
}

/* One byte to the other end for each that is readable and asked for; until the other end is closed. */
static void run(void *data) {
  watch_t *watch = data;
  for (int is_asked = 1;;) {
    /* A negative descriptor is not polled. */
    struct pollfd polled[2] = {{.fd = watch->teller, .events = POLLIN},
                               {.fd = is_asked ? watch->watched : -1, .events = POLLIN}};
    char byte = 1;
    if (poll(polled, 2, -1) < 0) {
      if (errno == EINTR) continue;
      break;
    }
    if (polled[0].revents != 0) {
      const ssize_t got = recv(watch->teller, &byte, 1, 0);
      if (got == 0 || (got < 0 && errno != EINTR)) break;
      is_asked = 1;
    } else if (polled[1].revents != 0) {
      if (send(watch->teller, &byte, 1, MSG_NOSIGNAL) != 1) break;
      is_asked = 0;
    }
  }
  end_watch(watch);
}

int32_t tn_watch_open(int32_t descriptor, int32_t *out) {
  if (out == NULL) return tn__fail(TN_INVALID_ARGUMENT, "out must not be null");
  int32_t ends[2];
  watch_t *watch = malloc(sizeof *watch);
  if (watch == NULL) return tn__fail(TN_OUT_OF_MEMORY, "no memory for a watch");
  int32_t status = tn__socket_pair(SOCK_STREAM, 0, ends);
  if (status != TN_OK) {
    free(watch);
    return status;
  }
  *watch = (watch_t){.thread = {run, watch}, .watched = fcntl(descriptor, F_DUPFD_CLOEXEC, 0), .teller = ends[1]};
  if (watch->watched < 0 || !tn__thread_start(&watch->thread)) {
    status = watch->watched < 0
                 ? tn__fail(TN_SYSTEM, "descriptor %d can't be watched: error %d", (int)descriptor, errno)
                 : tn__fail(TN_SYSTEM, "no thread can be started");
    end_watch(watch);
    close(ends[0]);
    return status;
  }
  *out = ends[0];
  return TN_OK;
}
