/* Closing descriptors that came from a peer: the file system behind one may be the peer's own, and let whoever closes wait
 * for ever. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../internal.h"

/* The most closings that may be under way on threads of their own. */
#define CLOSERS 64

static _Atomic int closing;

typedef struct {
  tn__thread_t thread;
  int descriptor;
} closer_t;

static void run(void *data) {
  closer_t *closer = data;
  close(closer->descriptor);
  free(closer);
  closing--;
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
  closer_t *closer = ++closing <= CLOSERS ? malloc(sizeof *closer) : NULL;
  if (closer != NULL) {
    *closer = (closer_t){.thread = {.run = run, .data = closer}, .descriptor = descriptor};
    if (tn__thread_start(&closer->thread)) return TN_OK;
    free(closer);
  }
  closing--;
  return tn_descriptor_close(descriptor);
}
