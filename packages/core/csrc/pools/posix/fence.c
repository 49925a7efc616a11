/* Fences. A fence is one end of a stream whose other end belongs to the signaller. An unread byte means that the fence
 * is signalled, and the end of the stream without a byte that the signaller failed or died. The byte is never read, so
 * that all holders of the fence see it. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "../../base/internal.h"
#include "tenon_pools.h"

int32_t tn_fence_status(int32_t fence, int32_t *out) {
  TN_REQUIRE(out != NULL, "out must not be null");
  char byte;
  ssize_t count;
  do {
    count = recv(fence, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  } while (count < 0 && errno == EINTR);
  if (count < 0 && errno == EAGAIN) {
    *out = TN_FENCE_ACTIVE;
  } else if (count < 0 && errno != ECONNRESET) {
    return tn__fail(TN_INVALID_ARGUMENT, "the descriptor is not a fence: %s", strerror(errno));
  } else {
    *out = count == 1 ? TN_FENCE_SIGNALED : TN_FENCE_FAILED;
  }
  return TN_OK;
}
