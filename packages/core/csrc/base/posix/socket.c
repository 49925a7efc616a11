#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/socket.h"

#if defined(SOCK_CLOEXEC)
#define CLOSED_IN_CHILDREN SOCK_CLOEXEC
#else
#define CLOSED_IN_CHILDREN 0
#endif

int64_t tn__now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * TN__SECOND + time.tv_nsec;
}

int32_t tn__socket_failed(const char *what) {
  int reason = errno;
  if (reason == EPIPE || reason == ECONNRESET || reason == ENOTCONN || reason == ECONNREFUSED)
    return tn__fail(TN_CLOSED, "the peer has closed the connection");
  return tn__fail(TN_SYSTEM, "%s: %s", what, strerror(reason));
}

int32_t tn__socket_give_up(int socket, const char *what) {
  int32_t status = tn__socket_failed(what);
  if (socket >= 0) close(socket);
  return status;
}

int tn__socket_poll(struct pollfd *entries, size_t count, int64_t nanoseconds) {
#if defined(__linux__)
  struct timespec limit = {.tv_sec = nanoseconds / TN__SECOND, .tv_nsec = nanoseconds % TN__SECOND};
  return ppoll(entries, count, nanoseconds < 0 ? NULL : &limit, NULL);
#else
  int64_t milliseconds = (nanoseconds + 999999) / 1000000;
  return poll(entries, (nfds_t)count, nanoseconds < 0 ? -1 : milliseconds > INT32_MAX ? INT32_MAX : (int)milliseconds);
#endif
}

int32_t tn__socket_wait(int socket, short events, int64_t deadline) {
  for (;;) {
    struct pollfd entry = {.fd = socket, .events = events};
    int64_t left = deadline < 0 ? -1 : deadline - tn__now();
    if (deadline >= 0 && left < 0) left = 0;
    int count = tn__socket_poll(&entry, 1, left);
    if (count > 0) return TN_OK;
    if (count == 0) return tn__fail(TN_TIMED_OUT, "timed out");
    if (errno != EINTR) return tn__socket_failed("poll() on a socket failed");
  }
}

int tn__socket_prepare(int socket, int buffer_size) {
  int result = 0;
#if !defined(SOCK_CLOEXEC)
  result |= fcntl(socket, F_SETFD, FD_CLOEXEC);
#endif
#if defined(SO_NOSIGPIPE)
  int on = 1;
  result |= setsockopt(socket, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
  if (buffer_size > 0) {
    result |= setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &buffer_size, sizeof buffer_size);
    result |= setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &buffer_size, sizeof buffer_size);
  }
  return result;
}

int32_t tn__socket_open(int type, int buffer_size, int32_t *out) {
  int opened = socket(AF_UNIX, type | CLOSED_IN_CHILDREN, 0);
  if (opened < 0 || tn__socket_prepare(opened, buffer_size) != 0) return tn__socket_give_up(opened, "socket() failed");
  *out = opened;
  return TN_OK;
}

int32_t tn__socket_pair(int type, int buffer_size, int32_t out[2]) {
  int sockets[2];
  if (socketpair(AF_UNIX, type | CLOSED_IN_CHILDREN, 0, sockets) != 0) return tn__socket_failed("socketpair() failed");
  if (tn__socket_prepare(sockets[0], buffer_size) != 0 || tn__socket_prepare(sockets[1], buffer_size) != 0) {
    close(sockets[1]);
    return tn__socket_give_up(sockets[0], "socketpair() failed");
  }
  out[0] = sockets[0];
  out[1] = sockets[1];
  return TN_OK;
}
