/* posix/watch.c: when a byte is written, how often, and the end of a watch. */
#if defined(__linux__)
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "posix/descriptors.h"
#include "tenon.h"

static int has_byte(int socket, int milliseconds) {
  struct pollfd polled = {.fd = socket, .events = POLLIN};
  char byte;
  return poll(&polled, 1, milliseconds) == 1 && read(socket, &byte, 1) == 1;
}

TEST(a_watch_writes_one_byte_for_each_request) {
  const int before = open_descriptors();
  int pipe_ends[2];
  int32_t socket = -1;
  char byte = 1;
  CHECK(pipe(pipe_ends) == 0);
  CHECK(tn_watch_open(pipe_ends[0], &socket) == TN_OK);
  CHECK(!has_byte(socket, 20));
  CHECK(write(pipe_ends[1], &byte, 1) == 1);
  CHECK(has_byte(socket, 5000));
  CHECK(!has_byte(socket, 20)); /* still readable, but not asked again */
  CHECK(write(socket, &byte, 1) == 1);
  CHECK(has_byte(socket, 5000));
  CHECK(read(pipe_ends[0], &byte, 1) == 1);
  CHECK(write(socket, &byte, 1) == 1);
  CHECK(!has_byte(socket, 20));
  close(pipe_ends[0]);
  close(pipe_ends[1]);
  CHECK(has_byte(socket, 5000)); /* the end of a pipe is readable; the watch has a duplicate */
  close(socket);
  CHECK(comes_to(before));
}

TEST(a_watch_of_an_invalid_descriptor_is_refused) {
  const int before = open_descriptors();
  int32_t socket = -1;
  CHECK(tn_watch_open(-1, &socket) == TN_SYSTEM && strstr(tn_last_error(), "descriptor -1") != NULL);
  CHECK(tn_watch_open(0, NULL) == TN_INVALID_ARGUMENT);
  CHECK(open_descriptors() == before);
}
#endif
