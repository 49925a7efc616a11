/* Messages that hand memory over between programs which have nothing else in common. */
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "control.h"

int32_t tn_shared_memory_receive(int32_t channel, void *bytes, size_t capacity, size_t *length, int32_t *descriptors,
                                 size_t *count, int64_t timeout) {
  TN_REQUIRE(bytes != NULL && length != NULL && descriptors != NULL && count != NULL, "pointers must not be null");
  TN_REQUIRE(timeout >= 0, "timeout must not be negative");
  TN_TRY(tn__socket_wait(channel, POLLIN, tn__now() + timeout));
  struct iovec part = {.iov_base = bytes, .iov_len = capacity};
  tn__control_t control;
  struct msghdr message = tn__control_message(&part, &control);
  ssize_t received;
  TN__REPEAT(received, recvmsg(channel, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT));
  if (received < 0 && errno == EAGAIN) return tn__fail(TN_TIMED_OUT, "timed out");
  if (received < 0) return tn__socket_failed("recv() failed");
  const size_t taken = tn__control_take(&message, descriptors, TN_FRAME_DESCRIPTORS);
  int32_t status = TN_OK;
  if (received == 0 && taken == 0) {
    status = tn__fail(TN_CLOSED, "the peer has closed the connection");
  } else if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0 || taken > TN_FRAME_DESCRIPTORS) {
    status = tn__fail(TN_INVALID_ARGUMENT, "malformed message: too long, or too many descriptors");
  } else {
    *length = (size_t)received;
  }
  return tn__control_finish(status, descriptors, taken, count);
}
