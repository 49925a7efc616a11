/* Closing descriptors that a peer has sent. The file system of one may belong to the peer and block close() forever. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/status.h"
#include "base/lock.h"
#include "base/owned.h"
#include "base/thread.h"
#include "tenon_pools.h"

/* The most threads that close descriptors at a time. While all of them are blocked, other descriptors wait for them. */
#define CLOSERS 64

typedef struct closer {
  tn__thread_t thread;
  int descriptor;
  struct closer *next;
} closer_t;

static tn__lock_t lock = TN__LOCK;
static closer_t *waiting;
static int threads;

/* Returns the next descriptor for a thread, or null, and then the thread ends. */
static closer_t *next_waiting(void) {
  tn__lock(&lock);
  closer_t *next = waiting;
  if (next == NULL)
    threads--;
  else
    waiting = next->next;
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

/* Returns whether another thread may start. Otherwise the descriptor is queued for the threads that run. */
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

/* Closing a socket or sealed memory never blocks, because they belong to the kernel. */
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
  tn__owned_forget_descriptor(descriptor);
  *closer = (closer_t){.thread = {.run = run, .data = closer}, .descriptor = descriptor};
  if (!may_start(closer) || tn__thread_start(&closer->thread)) return TN_OK;
  free(closer);
  tn__lock(&lock);
  threads--;
  tn__unlock(&lock);
  return tn_descriptor_close(descriptor);
}
