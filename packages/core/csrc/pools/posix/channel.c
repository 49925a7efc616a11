/* Channels to other processes: sockets that carry messages with descriptors. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "stream.h"

#if defined(TN_CHANNELS_ARE_STREAMS)
#define CHANNEL_TYPE SOCK_STREAM
/* Room for some messages, because a message is read from a stream once it is complete. */
#define BUFFER_SIZE (4 * (int)TN_FRAME_MAXIMUM)
#else
#define CHANNEL_TYPE SOCK_SEQPACKET
#define BUFFER_SIZE 0 /* the system's own */
#endif

int32_t tn_channel_pair(int32_t stream, int32_t out[2]) {
  TN_TRY(tn__socket_pair(stream ? SOCK_STREAM : CHANNEL_TYPE, BUFFER_SIZE, out));
  for (int end = 0; end < 2; end++) tn__owned_note_descriptor(out[end]);
  return TN_OK;
}

static int32_t open_for(const char *path, size_t length, struct sockaddr_un *address, int32_t *socket) {
  *address = (struct sockaddr_un){.sun_family = AF_UNIX};
  TN_REQUIRE(length != 0 && length < sizeof address->sun_path && memchr(path, 0, length) == NULL,
             "path must have 1 to %zu bytes and no NUL, got %zu bytes", sizeof address->sun_path - 1, length);
  memcpy(address->sun_path, path, length);
  return tn__socket_open(CHANNEL_TYPE, BUFFER_SIZE, socket);
}

/* Binds a socket to which other users can never connect. */
static int bind_alone(int listener, const struct sockaddr_un *address) {
#if defined(__linux__)
  /* The file gets the mode of the socket. */
  if (fchmod(listener, S_IRUSR | S_IWUSR) != 0) return -1;
  return bind(listener, (const struct sockaddr *)address, sizeof *address);
#else
  if (bind(listener, (const struct sockaddr *)address, sizeof *address) != 0) return -1;
  /* Connections are refused until listen(). */
  return chmod(address->sun_path, S_IRUSR | S_IWUSR);
#endif
}

int32_t tn_channel_listen(const char *path, size_t path_length, int32_t *out) {
  struct sockaddr_un address;
  int32_t listener;
  TN_TRY(open_for(path, path_length, &address, &listener));
  if (fcntl(listener, F_SETFL, O_NONBLOCK) != 0 || bind_alone(listener, &address) != 0 || listen(listener, 64) != 0)
    return tn__socket_give_up(listener, "the socket cannot listen");
  tn__owned_note_descriptor(listener);
  *out = listener;
  return TN_OK;
}

int32_t tn_channel_connect(const char *path, size_t path_length, int32_t *out) {
  struct sockaddr_un address;
  int32_t channel;
  TN_TRY(open_for(path, path_length, &address, &channel));
  while (connect(channel, (struct sockaddr *)&address, sizeof address) != 0)
    if (errno != EINTR) return tn__socket_give_up(channel, "connect() failed");
  tn__owned_note_descriptor(channel);
  *out = channel;
  return TN_OK;
}

int32_t tn_channel_accept(int32_t listener, int32_t *out) {
  for (;;) {
#if defined(__linux__)
    int channel = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
#else
    int channel = accept(listener, NULL, NULL);
#endif
    if (channel >= 0) {
      /* Only on Linux the socket does not inherit O_NONBLOCK from the listener. */
      if (tn__socket_prepare(channel, BUFFER_SIZE) != 0 || fcntl(channel, F_SETFL, 0) != 0)
        return tn__socket_give_up(channel, "accept() failed");
      tn__owned_note_descriptor(channel);
      *out = channel;
      return TN_OK;
    }
    if (errno == EAGAIN) return tn__fail(TN_TIMED_OUT, "no connection is waiting");
    if (errno != EINTR && errno != ECONNABORTED) return tn__socket_failed("accept() failed");
  }
}

int32_t tn_channel_peer(int32_t channel, uint32_t *user) {
#if defined(__linux__)
  struct ucred credentials;
  socklen_t size = sizeof credentials;
  if (getsockopt(channel, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0)
    return tn__socket_failed("the user of the peer is unknown");
  *user = credentials.uid;
#else
  uid_t owner;
  gid_t group;
  if (getpeereid(channel, &owner, &group) != 0) return tn__socket_failed("the user of the peer is unknown");
  *user = (uint32_t)owner;
#endif
  return TN_OK;
}

int32_t tn_channel_send(int32_t channel, const void *bytes, size_t length, const int32_t *descriptors, size_t count,
                        int64_t timeout) {
  TN_REQUIRE(count <= TN_FRAME_DESCRIPTORS, "a message has too many descriptors: %zu", count);
#if defined(TN_CHANNELS_ARE_STREAMS)
  return tn__stream_send(channel, bytes, length, descriptors, count, timeout);
#else
  struct iovec part = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = length};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  tn__control_t control;
  if (count > 0) tn__control_write(&message, &control, descriptors, count);
  int64_t deadline = timeout < 0 ? -1 : 0;
  const int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
  for (;;) {
    /* send() is faster than sendmsg(), and most messages have no descriptors. */
    ssize_t sent = count > 0 ? sendmsg(channel, &message, flags) : send(channel, bytes, length, flags);
    if (sent >= 0) return TN_OK;
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return tn__socket_failed("send() failed");
    if (timeout >= 0 && deadline == 0) deadline = tn__now() + timeout;
    TN_TRY(tn__socket_wait(channel, POLLOUT, deadline));
  }
#endif
}

int32_t tn_channel_receive(int32_t channel, void *bytes, int32_t *descriptors, size_t *count, int64_t timeout) {
#if defined(TN_CHANNELS_ARE_STREAMS)
  return tn__stream_receive(channel, bytes, descriptors, count, timeout);
#else
  if (timeout > 0) {
    TN_TRY(tn__socket_wait(channel, POLLIN, tn__now() + timeout));
  }
  struct iovec part = {.iov_base = bytes, .iov_len = TN_FRAME_MAXIMUM};
  tn__control_t control;
  struct msghdr message = tn__control_message(&part, &control);
  ssize_t length;
  TN__REPEAT(length, recvmsg(channel, &message, MSG_CMSG_CLOEXEC | (timeout >= 0 ? MSG_DONTWAIT : 0)));
  if (length < 0 && errno == EAGAIN) return tn__fail(TN_TIMED_OUT, "timed out");
  if (length < 0) return tn__socket_failed("recv() failed");
  size_t taken = tn__control_take(&message, descriptors, TN_FRAME_DESCRIPTORS);
  int32_t status = TN_OK;
  if (length == 0 && taken == 0) {
    status = tn__fail(TN_CLOSED, "the peer has closed the connection");
  } else if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0 || taken > TN_FRAME_DESCRIPTORS) {
    status = tn__fail(TN_INVALID_ARGUMENT, "malformed message: too long, or too many descriptors");
  } else {
    status = tn_frame_check(bytes, (size_t)length, taken);
  }
  return tn__control_finish(status, descriptors, taken, count);
#endif
}

int32_t tn_channel_poll(const int32_t *channels, size_t count, int64_t timeout, uint8_t *ready) {
  struct pollfd few[64];
  struct pollfd *entries = count <= 64 ? few : malloc(count * sizeof *entries);
  if (entries == NULL) return tn__fail(TN_OUT_OF_MEMORY, "no memory to wait for %zu sockets", count);
  for (size_t i = 0; i < count; i++) entries[i] = (struct pollfd){.fd = channels[i], .events = POLLIN};
  int found;
  do {
    found = tn__socket_poll(entries, count, timeout);
  } while (found < 0 && errno == EINTR && timeout < 0);
  for (size_t i = 0; i < count; i++) ready[i] = found > 0 && entries[i].revents != 0;
  int32_t status = TN_OK;
  if (found == 0 || (found < 0 && errno == EINTR)) status = tn__fail(TN_TIMED_OUT, "timed out");
  if (found < 0 && errno != EINTR) status = tn__socket_failed("poll() on sockets failed");
  if (entries != few) free(entries);
  return status;
}

int32_t tn_channel_ring(int32_t stream) {
  char byte = 1;
  for (;;) {
    if (send(stream, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1 || errno == EAGAIN) return TN_OK;
    if (errno != EINTR) return tn__socket_failed("send() to a stream failed");
  }
}
