/* The ends of channels: a peer that is gone, and descriptors that run out. */
#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/socket.h"
#include "base/thread.h"
#include "tenon_pools.h"

int32_t tn_channel_shut(int32_t channel) {
  if (shutdown(channel, SHUT_RDWR) == 0 || errno == ENOTCONN) return TN_OK;
  return tn__socket_failed("shutdown() failed");
}

typedef struct {
  tn__thread_t thread;
  int channel;
} follower_t;

static void follow(void *data) {
  follower_t *follower = data;
  struct pollfd entry = {.fd = follower->channel};
  while (poll(&entry, 1, -1) < 0 && errno == EINTR) continue;
  _Exit(0);
}

int32_t tn_channel_exit_with_peer(int32_t channel) {
  follower_t *follower = malloc(sizeof *follower);
  if (follower == NULL) return tn__fail(TN_OUT_OF_MEMORY, "out of memory: cannot watch a channel");
  *follower = (follower_t){.thread = {.run = follow, .data = follower}, .channel = channel};
  if (tn__thread_start(&follower->thread)) return TN_OK;
  free(follower);
  return tn__fail(TN_SYSTEM, "cannot start a thread that watches a channel");
}

int32_t tn_descriptor_limit(uint64_t *out) {
  TN_REQUIRE(out != NULL, "out must not be null");
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return tn__socket_failed("getrlimit() failed");
  *out = limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : (uint64_t)limit.rlim_cur;
  return TN_OK;
}
