/* Messages that hand memory over between programs which have nothing else in common. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "control.h"

/* The types of sockets that a listener may have, the one that keeps the bounds of messages first. */
#if defined(__linux__)
static const int TYPES[] = {SOCK_SEQPACKET, SOCK_STREAM};
#else
static const int TYPES[] = {SOCK_STREAM};
#endif
#define TYPE_COUNT (sizeof TYPES / sizeof *TYPES)

/* Connects a socket of one type. Sets `other_type` if the listener has another one. */
static int32_t connect_as(int type, const struct sockaddr_un *address, int64_t timeout, int *other_type, int32_t *out) {
  int32_t channel;
  TN_TRY(tn__socket_open(type, 0, &channel));
  /* A listener that never accepts would block connect() for ever once its queue is full. */
  const struct timeval limit = {.tv_sec = timeout / TN__SECOND, .tv_usec = timeout % TN__SECOND / 1000 + 1};
  if (setsockopt(channel, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) != 0)
    return tn__socket_give_up(channel, "setsockopt() failed");
  while (connect(channel, (const struct sockaddr *)address, sizeof *address) != 0) {
    if (errno == EINTR) continue;
    const int reason = errno;
    const int32_t status = tn__socket_give_up(channel, "connect() failed");
    *other_type = reason == EPROTOTYPE;
    if (reason == ECONNREFUSED || reason == ENOENT) return tn__fail(TN_NOT_FOUND, "nobody listens");
    return reason == EAGAIN ? tn__fail(TN_TIMED_OUT, "timed out") : status;
  }
  *out = channel;
  return TN_OK;
}

int32_t tn_shared_memory_connect(const char *path, size_t path_length, int64_t timeout, int32_t *out) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  TN_REQUIRE(path_length != 0 && path_length < sizeof address.sun_path && memchr(path, 0, path_length) == NULL,
             "path must have 1 to %zu bytes and no NUL, got %zu bytes", sizeof address.sun_path - 1, path_length);
  TN_REQUIRE(timeout > 0, "timeout must be positive");
  memcpy(address.sun_path, path, path_length);
  int other_type = 1;
  int32_t channel = -1, status = TN_OK;
  for (size_t i = 0; i < TYPE_COUNT && other_type; i++) {
    other_type = 0;
    status = connect_as(TYPES[i], &address, timeout, &other_type, &channel);
  }
  if (status != TN_OK) return status;
  tn__owned_note_descriptor(channel);
  *out = channel;
  return TN_OK;
}

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
