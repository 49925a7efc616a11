/* Messages over a stream of bytes, for systems without sockets that preserve their boundaries. A message contains its
 * length, and is read from the stream once all of it has arrived. */
#include "stream.h"

#if defined(TN_CHANNELS_ARE_STREAMS)
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The time limit for the rest of a message, whatever the timeout. A peer that exceeds it is disconnected. */
#define REST_TIMEOUT TN__SECOND

/* Ends a stream for both sides, because the boundaries of its messages are lost. */
static int32_t break_off(int socket, int32_t status) {
  shutdown(socket, SHUT_RDWR);
  return status;
}

int32_t tn__stream_send(int socket, const void *bytes, size_t length, const int32_t *descriptors, size_t count,
                        int64_t timeout) {
  int64_t deadline = timeout < 0 ? -1 : tn__now() + timeout;
  size_t done = 0;
  while (done < length) {
    struct iovec part = {.iov_base = (char *)(uintptr_t)bytes + done, .iov_len = length - done};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    tn__control_t control;
    /* Descriptors are sent with the first byte. */
    if (count > 0 && done == 0) tn__control_write(&message, &control, descriptors, count);
    ssize_t sent = sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) {
      done += (size_t)sent;
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != ENOBUFS) return tn__socket_failed("sendmsg() failed");
    int32_t status = tn__socket_wait(socket, POLLOUT, deadline);
    if (status == TN_OK) continue;
    return done == 0 ? status : break_off(socket, tn__fail(TN_CLOSED, "the peer has read only a part of a message"));
  }
  return TN_OK;
}

/* Finds the length of the message at the start of the stream, or 0 until all of it has arrived. */
static int32_t whole_message(int socket, void *bytes, size_t *length, int *has_begun) {
  ssize_t there;
  TN__REPEAT(there, recv(socket, bytes, TN_FRAME_MAXIMUM, MSG_PEEK | MSG_DONTWAIT));
  *length = 0;
  *has_begun = there > 0;
  if (there < 0 && errno == EAGAIN) return TN_OK;
  if (there < 0) return tn__socket_failed("recv() failed");
  if (there == 0) return tn__fail(TN_CLOSED, "the peer has closed the connection");
  if ((size_t)there < sizeof(tn_frame_t)) return TN_OK;
  tn_frame_t header;
  memcpy(&header, bytes, sizeof header);
  if (header.magic != TN_FRAME_MAGIC || header.length < sizeof header || header.length > TN_FRAME_MAXIMUM)
    return break_off(socket, tn__fail(TN_INVALID_ARGUMENT, "malformed message: wrong magic number or length"));
  if ((size_t)there >= header.length) *length = header.length;
  return TN_OK;
}

static int32_t await_message(int socket, void *bytes, size_t *length, int64_t timeout) {
  int64_t deadline = timeout < 0 ? -1 : tn__now() + timeout;
  int64_t begun = -1;
  for (;;) {
    int has_begun;
    int32_t status = whole_message(socket, bytes, length, &has_begun);
    if (status != TN_OK || *length > 0) return status;
    if (!has_begun) {
      TN_TRY(tn__socket_wait(socket, POLLIN, deadline));
      continue;
    }
    int64_t time = tn__now();
    if (begun < 0) begun = time;
    if (time - begun > REST_TIMEOUT)
      return break_off(socket, tn__fail(TN_INVALID_ARGUMENT, "malformed message: its end has not arrived"));
    /* poll() would return at once, because the socket is readable. */
    struct timespec pause = {.tv_sec = 0, .tv_nsec = 200000};
    nanosleep(&pause, NULL);
  }
}

int32_t tn__stream_receive(int socket, void *bytes, int32_t *descriptors, size_t *count, int64_t timeout) {
  size_t length, done = 0, taken = 0;
  TN_TRY(await_message(socket, bytes, &length, timeout));
  int32_t status = TN_OK;
  int is_cut = 0;
  /* One call receives bytes up to the next descriptors, so a message may arrive in parts. */
  while (status == TN_OK && done < length) {
    struct iovec part = {.iov_base = (char *)bytes + done, .iov_len = length - done};
    tn__control_t control;
    struct msghdr message = tn__control_message(&part, &control);
    ssize_t received = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (received < 0 && errno == EINTR) continue;
    if (received <= 0) status = tn__fail(TN_CLOSED, "the peer has closed the connection");
    if (received <= 0) break;
    done += (size_t)received;
    size_t kept = taken < TN_FRAME_DESCRIPTORS ? taken : TN_FRAME_DESCRIPTORS;
    taken = kept + tn__control_take(&message, descriptors + kept, TN_FRAME_DESCRIPTORS - kept);
    is_cut |= (message.msg_flags & MSG_CTRUNC) != 0 || taken > TN_FRAME_DESCRIPTORS;
  }
  if (status == TN_OK && is_cut) status = tn__fail(TN_INVALID_ARGUMENT, "malformed message: too many descriptors");
  if (status == TN_OK) status = tn_frame_check(bytes, length, taken);
  return tn__control_finish(status, descriptors, taken, count);
}

#endif
