/* Closing descriptors that came from a peer: the file system behind one may be the peer's own, and let whoever closes
 * wait for ever. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../base/internal.h"
#include "../../base/lock.h"
#include "tenon_pools.h"

/* The most threads that close at a time. While all of them wait, what else is to be closed waits for them. */
#define CLOSERS 64

typedef struct closer {
  tn__thread_t thread;
  int descriptor;
  struct closer *next;
} closer_t;

static tn__lock_t lock = TN__LOCK;
static closer_t *waiting;
static int threads;

/* What a thread closes next, or null: then it ends. */
static closer_t *next_waiting(void) {
  tn__lock(&lock);
  closer_t *next = waiting;
  if (next == NULL) {
    threads--;
  } else {
    waiting = next->next;
  }
  tn__unlock(&lock);
  return next;
}

static void run(void *data) {
  for (closer_t *closer = data; closer != NULL;) {
    close(closer->descriptor);
    free(closer);
    closer = next_waiting();
  }
}

/* Whether there is room for another thread; otherwise the closer waits for one of those that are there. */
static int may_start(closer_t *closer) {
  tn__lock(&lock);
  const int may = threads < CLOSERS;
  if (may) {
    threads++;
  } else {
    closer->next = waiting;
    waiting = closer;
  }
  tn__unlock(&lock);
  return may;
}

/* Sockets and sealed memory are the kernel's own: closing them never waits. */
static int closes_at_once(int descriptor) {
  int type;
  socklen_t size = sizeof type;
  uint32_t seals = 0;
  if (getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0) return 1;
  return tn_descriptor_seals(descriptor, &seals) == TN_OK && seals != 0;
}

int32_t tn_descriptor_discard(int32_t descriptor) {
  if (closes_at_once(descriptor)) return tn_descriptor_close(descriptor);
  closer_t *closer = malloc(sizeof *closer);
  if (closer == NULL) return tn_descriptor_close(descriptor);
  *closer = (closer_t){.thread = {.run = run, .data = closer}, .descriptor = descriptor};
  if (!may_start(closer) || tn__thread_start(&closer->thread)) return TN_OK;
  free(closer);
  tn__lock(&lock);
  threads--;
  tn__unlock(&lock);
  return tn_descriptor_close(descriptor);
}
