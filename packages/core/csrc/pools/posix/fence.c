/* Fences. A fence is one end of a stream whose other end belongs to the signaller. An unread byte means that the fence
 * is signalled, and the end of the stream without a byte that the signaller failed or died. The byte is never read, so
 * that all holders of the fence see it. */
#include <string.h>

#include "base/socket.h"
#include "tenon_pools.h"

int32_t tn_fence_status(int32_t fence, int32_t *out) {
  TN_REQUIRE(out != NULL, "out must not be null");
  char byte;
  ssize_t count;
  TN__REPEAT(count, recv(fence, &byte, 1, MSG_PEEK | MSG_DONTWAIT));
  const int is_active = count < 0 && errno == EAGAIN;
  TN_REQUIRE(count >= 0 || is_active || errno == ECONNRESET, "the descriptor is not a fence: %s", strerror(errno));
  *out = is_active ? TN_FENCE_ACTIVE : count == 1 ? TN_FENCE_SIGNALED : TN_FENCE_FAILED;
  return TN_OK;
}
