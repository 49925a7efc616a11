/* posix/watch.c: what it tells, how often, and that it ends with the other end. */
#if defined(__linux__)
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "descriptors.h"
#include "tenon.h"

static int is_told(int socket, int milliseconds) {
  struct pollfd polled = {.fd = socket, .events = POLLIN};
  char byte;
  return poll(&polled, 1, milliseconds) == 1 && read(socket, &byte, 1) == 1;
}

TEST(a_watch_tells_once_for_each_time_it_is_asked) {
  const int before = open_descriptors();
  int pipe_ends[2];
  int32_t socket = -1;
  char byte = 1;
  CHECK(pipe(pipe_ends) == 0);
  CHECK(tn_watch_open(pipe_ends[0], &socket) == TN_OK);
  CHECK(!is_told(socket, 20));
  CHECK(write(pipe_ends[1], &byte, 1) == 1);
  CHECK(is_told(socket, 5000));
  CHECK(!is_told(socket, 20)); /* still readable, but nobody has asked again */
  CHECK(write(socket, &byte, 1) == 1);
  CHECK(is_told(socket, 5000));
  CHECK(read(pipe_ends[0], &byte, 1) == 1);
  CHECK(write(socket, &byte, 1) == 1);
  CHECK(!is_told(socket, 20));
  close(pipe_ends[0]);
  close(pipe_ends[1]);
  CHECK(is_told(socket, 5000)); /* the end of a pipe is readable: the watch has a descriptor of its own */
  close(socket);
  CHECK(comes_to(before));
}

TEST(a_watch_of_nothing_is_refused) {
  const int before = open_descriptors();
  int32_t socket = -1;
  CHECK(tn_watch_open(-1, &socket) == TN_SYSTEM && strstr(tn_last_error(), "descriptor -1") != NULL);
  CHECK(tn_watch_open(0, NULL) == TN_INVALID_ARGUMENT);
  CHECK(open_descriptors() == before);
}
#endif
