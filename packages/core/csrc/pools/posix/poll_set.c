/* Sets of descriptors to wait for, with epoll on Linux and kqueue elsewhere: the cost of a wait does not depend on how many of
 * the descriptors are idle. */
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/owned.h"
#include "base/socket.h"
#include "tenon_pools.h"

/* The most descriptors that one wait reports. The others are reported by the next one. */
#define REPORTED 64

#if defined(__linux__)
#include <sys/epoll.h>

int32_t tn_poll_open(int32_t *out) {
  TN_REQUIRE(out != NULL, "out must not be null");
  const int set = epoll_create1(EPOLL_CLOEXEC);
  if (set < 0) return tn__socket_failed("epoll_create1() failed");
  tn__owned_note_descriptor(set);
  *out = set;
  return TN_OK;
}

int32_t tn_poll_add(int32_t set, int32_t descriptor, int32_t reads) {
  /* A descriptor whose peer has closed its end is always reported. */
  struct epoll_event event = {.events = reads ? EPOLLIN : 0, .data.fd = descriptor};
  if (epoll_ctl(set, EPOLL_CTL_ADD, descriptor, &event) == 0) return TN_OK;
  return tn__socket_failed("epoll_ctl() failed");
}

int32_t tn_poll_remove(int32_t set, int32_t descriptor) {
  if (epoll_ctl(set, EPOLL_CTL_DEL, descriptor, NULL) == 0) return TN_OK;
  return tn__socket_failed("epoll_ctl() failed");
}

static int take_ready(int set, int milliseconds, int32_t *ready, size_t capacity) {
  struct epoll_event events[REPORTED];
  const int count = epoll_wait(set, events, (int)(capacity < REPORTED ? capacity : REPORTED), milliseconds);
  for (int i = 0; i < count; i++) ready[i] = events[i].data.fd;
  return count;
}

#else
#include <limits.h>
#include <sys/event.h>

int32_t tn_poll_open(int32_t *out) {
  TN_REQUIRE(out != NULL, "out must not be null");
  const int set = kqueue();
  if (set < 0) return tn__socket_failed("kqueue() failed");
  tn__owned_note_descriptor(set);
  *out = set;
  return TN_OK;
}

int32_t tn_poll_add(int32_t set, int32_t descriptor, int32_t reads) {
  struct kevent change;
  /* No message is as long as the low-water mark, so that only the end of the peer is reported. */
  EV_SET(&change, (uintptr_t)descriptor, EVFILT_READ, EV_ADD, reads ? 0 : NOTE_LOWAT, reads ? 0 : INT_MAX, NULL);
  if (kevent(set, &change, 1, NULL, 0, NULL) == 0) return TN_OK;
  return tn__socket_failed("kevent() failed");
}

int32_t tn_poll_remove(int32_t set, int32_t descriptor) {
  struct kevent change;
  EV_SET(&change, (uintptr_t)descriptor, EVFILT_READ, EV_DELETE, 0, 0, NULL);
  if (kevent(set, &change, 1, NULL, 0, NULL) == 0) return TN_OK;
  return tn__socket_failed("kevent() failed");
}

static int take_ready(int set, int milliseconds, int32_t *ready, size_t capacity) {
  struct kevent events[REPORTED];
  const struct timespec none = {0, 0};
  const int most = (int)(capacity < REPORTED ? capacity : REPORTED);
  const int count = kevent(set, NULL, 0, events, most, milliseconds < 0 ? NULL : &none);
  for (int i = 0; i < count; i++) ready[i] = (int32_t)events[i].ident;
  return count;
}
#endif

int32_t tn_poll_wait(int32_t set, int64_t timeout, int32_t *ready, size_t capacity, size_t *count) {
  TN_REQUIRE(ready != NULL && count != NULL && capacity > 0, "ready and count must not be null, and capacity not 0");
  if (timeout > 0) {
    /* The set itself can be polled, with a limit in nanoseconds. A signal ends the wait early. */
    struct pollfd entry = {.fd = set, .events = POLLIN};
    const int found = tn__socket_poll(&entry, 1, timeout);
    if (found == 0 || (found < 0 && errno == EINTR)) return tn__fail(TN_TIMED_OUT, "timed out");
    if (found < 0) return tn__socket_failed("poll() on a set failed");
  }
  int found;
  TN__REPEAT(found, take_ready(set, timeout < 0 ? -1 : 0, ready, capacity));
  if (found < 0) return tn__socket_failed("waiting for a set of descriptors failed");
  if (found == 0) return tn__fail(TN_TIMED_OUT, "timed out");
  *count = (size_t)found;
  return TN_OK;
}
