/* Messages with descriptors between processes, over Unix sockets that keep the boundaries of messages. */
#include <errno.h>
#include <string.h>

#include "../internal.h"

#if defined(__linux__)
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define MILLION 1000000

/* Room for one descriptor more than is taken, since the kernel rounds the room up anyway: what comes too many is closed. */
#define CONTROL_SIZE CMSG_SPACE(sizeof(int) * (TN_FRAME_DESCRIPTORS + 1))

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000 * MILLION + time.tv_nsec;
}

static int32_t system_failed(const char *what) {
  int reason = errno;
  if (reason == EPIPE || reason == ECONNRESET || reason == ENOTCONN || reason == ECONNREFUSED)
    return tn__fail(TN_CLOSED, "the peer is gone");
  return tn__fail(TN_SYSTEM, "%s: %s", what, strerror(reason));
}

/* Waits for events on one socket; `deadline` is a time of now(), or negative for none. */
static int32_t wait_for(int socket, short events, int64_t deadline) {
  for (;;) {
    struct pollfd entry = {.fd = socket, .events = events};
    int64_t left = deadline < 0 ? -1 : deadline - now();
    if (deadline >= 0 && left < 0) left = 0;
    struct timespec limit = {.tv_sec = left / (1000 * MILLION), .tv_nsec = left % (1000 * MILLION)};
    int count = ppoll(&entry, 1, deadline < 0 ? NULL : &limit, NULL);
    if (count > 0) return TN_OK;
    if (count == 0) return tn__fail(TN_TIMED_OUT, "nothing came in time");
    if (errno != EINTR) return system_failed("waiting for a socket");
  }
}

int32_t tn_channel_pair(int32_t stream, int32_t out[2]) {
  int sockets[2];
  if (socketpair(AF_UNIX, (stream ? SOCK_STREAM : SOCK_SEQPACKET) | SOCK_CLOEXEC, 0, sockets) != 0)
    return system_failed("making a pair of sockets");
  out[0] = sockets[0];
  out[1] = sockets[1];
  return TN_OK;
}

static int32_t address_of(const char *path, size_t length, struct sockaddr_un *address) {
  memset(address, 0, sizeof *address);
  address->sun_family = AF_UNIX;
  if (length == 0 || length >= sizeof address->sun_path || memchr(path, 0, length) != NULL)
    return tn__fail(TN_INVALID_ARGUMENT, "the path of a socket must have 1 to %zu bytes and no NUL",
                    sizeof address->sun_path - 1);
  memcpy(address->sun_path, path, length);
  return TN_OK;
}

int32_t tn_channel_listen(const char *path, size_t path_length, int32_t *out) {
  struct sockaddr_un address;
  int32_t status = address_of(path, path_length, &address);
  if (status != TN_OK) return status;
  int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener < 0) return system_failed("making a socket");
  /* The mode of the socket itself becomes that of its file: nobody else can connect, not even for a moment. */
  if (fchmod(listener, S_IRUSR | S_IWUSR) != 0 || bind(listener, (struct sockaddr *)&address, sizeof address) != 0 ||
      listen(listener, 64) != 0) {
    status = system_failed("listening");
    close(listener);
    return status;
  }
  *out = listener;
  return TN_OK;
}

int32_t tn_channel_connect(const char *path, size_t path_length, int32_t *out) {
  struct sockaddr_un address;
  int32_t status = address_of(path, path_length, &address);
  if (status != TN_OK) return status;
  int channel = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (channel < 0) return system_failed("making a socket");
  while (connect(channel, (struct sockaddr *)&address, sizeof address) != 0) {
    if (errno == EINTR) continue;
    status = system_failed("connecting");
    close(channel);
    return status;
  }
  *out = channel;
  return TN_OK;
}

int32_t tn_channel_accept(int32_t listener, int32_t *out) {
  for (;;) {
    int channel = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (channel >= 0) {
      *out = channel;
      return TN_OK;
    }
    if (errno == EAGAIN) return tn__fail(TN_TIMED_OUT, "no connection waits");
    if (errno != EINTR && errno != ECONNABORTED) return system_failed("accepting a connection");
  }
}

int32_t tn_channel_peer(int32_t channel, uint32_t *user) {
  struct ucred credentials;
  socklen_t size = sizeof credentials;
  if (getsockopt(channel, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0)
    return system_failed("asking who the peer is");
  *user = credentials.uid;
  return TN_OK;
}

int32_t tn_channel_send(int32_t channel, const void *bytes, size_t length, const int32_t *descriptors, size_t count,
                        int64_t timeout) {
  if (count > TN_FRAME_DESCRIPTORS) return tn__fail(TN_INVALID_ARGUMENT, "too many descriptors for a message");
  struct iovec part = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = length};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  union {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof(int) * TN_FRAME_DESCRIPTORS)];
  } control;
  if (count > 0) {
    memset(&control, 0, sizeof control);
    message.msg_control = control.room;
    message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int) * count);
    memcpy(CMSG_DATA(header), descriptors, sizeof(int) * count);
  }
  int64_t deadline = timeout < 0 ? -1 : 0;
  const int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
  for (;;) {
    /* The plain call is faster, and most messages come without descriptors. */
    ssize_t sent = count > 0 ? sendmsg(channel, &message, flags) : send(channel, bytes, length, flags);
    if (sent >= 0) return TN_OK;
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return system_failed("sending a message");
    if (timeout >= 0 && deadline == 0) deadline = now() + timeout;
    int32_t status = wait_for(channel, POLLOUT, deadline);
    if (status != TN_OK) return status;
  }
}

/* Takes the descriptors out of control data, whatever it holds; closes those for which there is no room. */
static size_t take_descriptors(struct msghdr *message, int32_t *descriptors, size_t capacity) {
  size_t total = 0;
  for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header != NULL; header = CMSG_NXTHDR(message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; i++, total++) {
      int descriptor;
      memcpy(&descriptor, CMSG_DATA(header) + i * sizeof(int), sizeof descriptor);
      if (total < capacity) {
        descriptors[total] = descriptor;
      } else {
        close(descriptor);
      }
    }
  }
  return total;
}

int32_t tn_channel_receive(int32_t channel, void *bytes, int32_t *descriptors, size_t *count, int64_t timeout) {
  if (timeout > 0) {
    int32_t status = wait_for(channel, POLLIN, now() + timeout);
    if (status != TN_OK) return status;
  }
  struct iovec part = {.iov_base = bytes, .iov_len = TN_FRAME_MAXIMUM};
  union {
    struct cmsghdr header;
    char room[CONTROL_SIZE];
  } control;
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control.room};
  ssize_t length;
  do {
    length = recvmsg(channel, &message, MSG_CMSG_CLOEXEC | (timeout >= 0 ? MSG_DONTWAIT : 0));
  } while (length < 0 && errno == EINTR);
  if (length < 0 && errno == EAGAIN) return tn__fail(TN_TIMED_OUT, "nothing came in time");
  if (length < 0) return system_failed("receiving a message");
  size_t taken = take_descriptors(&message, descriptors, TN_FRAME_DESCRIPTORS);
  size_t kept = taken < TN_FRAME_DESCRIPTORS ? taken : TN_FRAME_DESCRIPTORS;
  int32_t status = TN_OK;
  if (length == 0 && taken == 0) {
    status = tn__fail(TN_CLOSED, "the peer is gone");
  } else if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0 || taken > kept) {
    status = tn__fail(TN_INVALID_ARGUMENT, "a malformed message: too long, or with too many descriptors");
  } else {
    status = tn_frame_check(bytes, (size_t)length, taken);
  }
  if (status != TN_OK) {
    for (size_t i = 0; i < kept; i++) close(descriptors[i]);
    return status;
  }
  *count = taken;
  return TN_OK;
}

int32_t tn_channel_call(int32_t channel, const void *request, size_t length, void *bytes, int32_t *descriptors,
                        size_t *count, int64_t timeout) {
  int64_t deadline = timeout < 0 ? -1 : now() + timeout;
  int32_t status = tn_channel_send(channel, request, length, NULL, 0, timeout);
  if (status != TN_OK) return status;
  if (deadline >= 0) {
    int64_t left = deadline - now();
    return tn_channel_receive(channel, bytes, descriptors, count, left < 0 ? 0 : left);
  }
  /* An answer has no descriptors: the system closes what comes nevertheless, and the answer doesn't pass the check. With
   * MSG_TRUNC the whole length is told. */
  ssize_t received;
  do {
    received = recv(channel, bytes, TN_FRAME_MAXIMUM, MSG_TRUNC);
  } while (received < 0 && errno == EINTR);
  if (received < 0) return system_failed("receiving a message");
  if (received == 0) return tn__fail(TN_CLOSED, "the peer is gone");
  *count = 0;
  return tn_frame_check(bytes, (size_t)received, 0);
}

int32_t tn_channel_poll(const int32_t *channels, size_t count, int64_t timeout, uint8_t *ready) {
  struct pollfd few[64];
  struct pollfd *entries = count <= 64 ? few : malloc(count * sizeof *entries);
  if (entries == NULL) return tn__fail(TN_OUT_OF_MEMORY, "no memory to wait for %zu sockets", count);
  for (size_t i = 0; i < count; i++) entries[i] = (struct pollfd){.fd = channels[i], .events = POLLIN};
  struct timespec limit = {.tv_sec = timeout / (1000 * MILLION), .tv_nsec = timeout % (1000 * MILLION)};
  int found;
  do {
    found = ppoll(entries, count, timeout < 0 ? NULL : &limit, NULL);
  } while (found < 0 && errno == EINTR && timeout < 0);
  for (size_t i = 0; i < count; i++) ready[i] = found > 0 && entries[i].revents != 0;
  int32_t status = TN_OK;
  if (found == 0 || (found < 0 && errno == EINTR)) status = tn__fail(TN_TIMED_OUT, "nothing came in time");
  if (found < 0 && errno != EINTR) status = system_failed("waiting for sockets");
  if (entries != few) free(entries);
  return status;
}

int32_t tn_channel_ring(int32_t stream) {
  char byte = 1;
  for (;;) {
    if (send(stream, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1 || errno == EAGAIN) return TN_OK;
    if (errno != EINTR) return system_failed("ringing");
  }
}

#else

static int32_t unsupported(void) { return tn__fail(TN_UNSUPPORTED, "this platform has no channels to other processes"); }

int32_t tn_channel_pair(int32_t stream, int32_t out[2]) {
  (void)stream, (void)out;
  return unsupported();
}
int32_t tn_channel_listen(const char *path, size_t path_length, int32_t *out) {
  (void)path, (void)path_length, (void)out;
  return unsupported();
}
int32_t tn_channel_connect(const char *path, size_t path_length, int32_t *out) {
  (void)path, (void)path_length, (void)out;
  return unsupported();
}
int32_t tn_channel_accept(int32_t listener, int32_t *out) {
  (void)listener, (void)out;
  return unsupported();
}
int32_t tn_channel_peer(int32_t channel, uint32_t *user) {
  (void)channel, (void)user;
  return unsupported();
}
int32_t tn_channel_send(int32_t channel, const void *bytes, size_t length, const int32_t *descriptors, size_t count,
                        int64_t timeout) {
  (void)channel, (void)bytes, (void)length, (void)descriptors, (void)count, (void)timeout;
  return unsupported();
}
int32_t tn_channel_receive(int32_t channel, void *bytes, int32_t *descriptors, size_t *count, int64_t timeout) {
  (void)channel, (void)bytes, (void)descriptors, (void)count, (void)timeout;
  return unsupported();
}
int32_t tn_channel_call(int32_t channel, const void *request, size_t length, void *bytes, int32_t *descriptors,
                        size_t *count, int64_t timeout) {
  (void)channel, (void)request, (void)length, (void)bytes, (void)descriptors, (void)count, (void)timeout;
  return unsupported();
}
int32_t tn_channel_poll(const int32_t *channels, size_t count, int64_t timeout, uint8_t *ready) {
  (void)channels, (void)count, (void)timeout, (void)ready;
  return unsupported();
}
int32_t tn_channel_ring(int32_t stream) {
  (void)stream;
  return unsupported();
}

#endif
