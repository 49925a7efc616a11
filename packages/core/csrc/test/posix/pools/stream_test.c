/* channel.c and stream.c, built as for systems without sockets that preserve the boundaries of messages. */
#if defined(__linux__)
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TN_CHANNELS_ARE_STREAMS
/* Other names than those of the library. */
#define tn_channel_pair streams_pair
#define tn_channel_listen streams_listen
#define tn_channel_connect streams_connect
#define tn_channel_accept streams_accept
#define tn_channel_peer streams_peer
#define tn_channel_send streams_send
#define tn_channel_receive streams_receive
#define tn_channel_poll streams_poll
#define tn_channel_ring streams_ring
#define tn__now streams__now
#define tn__socket_failed streams__failed
#define tn__socket_wait streams__wait
#define tn__socket_poll streams__poll
#define tn__socket_prepare streams__prepare
#define tn__socket_open streams__open
#define tn__socket_pair streams__socket_pair
#define tn__control_write streams__control_write
#define tn__control_finish streams__control_finish
#define tn__control_take streams__control_take
#define tn__stream_send streams__send
#define tn__stream_receive streams__receive
#define tn__fail streams__fail

#include "base/posix/owned.c"
#include "base/posix/socket.c"
#include "pools/posix/channel.c"
#include "pools/posix/control.c"
#include "pools/posix/stream.c"

#include "check.h"
#include "posix/descriptors.h"

int32_t streams__fail(int32_t status, const char *format, ...) {
  (void)format;
  return status;
}

static tn_frame_t header(size_t length, size_t descriptors) {
  return (tn_frame_t){.magic = TN_FRAME_MAGIC,
                      .version = TN_FRAME_VERSION,
                      .operation = 2,
                      .length = (uint32_t)length,
                      .descriptors = (uint16_t)descriptors};
}

static uint8_t received[TN_FRAME_MAXIMUM];
static int32_t taken[TN_FRAME_DESCRIPTORS];
static size_t count;

static int32_t receive(int socket, int64_t timeout) { return streams_receive(socket, received, taken, &count, timeout); }

TEST(streams_keep_messages_apart) {
  int before = open_descriptors();
  int32_t ends[2];
  CHECK(streams_pair(0, ends) == TN_OK);
  for (size_t i = 0; i < 5; i++) {
    uint8_t bytes[sizeof(tn_frame_t) + 5] = {0};
    tn_frame_t frame = header(sizeof(tn_frame_t) + i, 0);
    memcpy(bytes, &frame, sizeof frame);
    bytes[sizeof frame] = (uint8_t)i;
    CHECK(streams_send(ends[0], bytes, sizeof frame + i, NULL, 0, -1) == TN_OK);
  }
  for (size_t i = 0; i < 5; i++) {
    CHECK(receive(ends[1], -1) == TN_OK && count == 0);
    tn_frame_t frame;
    memcpy(&frame, received, sizeof frame);
    CHECK(frame.length == sizeof frame + i && (i == 0 || received[sizeof frame] == i));
  }
  CHECK(receive(ends[1], 0) == TN_TIMED_OUT && receive(ends[1], 1000000) == TN_TIMED_OUT);
  close(ends[0]);
  CHECK(receive(ends[1], -1) == TN_CLOSED);
  tn_frame_t frame = header(sizeof frame, 0);
  CHECK(streams_send(ends[1], &frame, sizeof frame, NULL, 0, -1) == TN_CLOSED);
  close(ends[1]);
  CHECK(comes_to(before));
}

TEST(streams_carry_descriptors) {
  int before = open_descriptors();
  int32_t ends[2];
  CHECK(streams_pair(0, ends) == TN_OK);
  int32_t sent[TN_FRAME_DESCRIPTORS];
  for (size_t i = 0; i < TN_FRAME_DESCRIPTORS; i++) sent[i] = dup(0);
  for (size_t n = 1; n <= TN_FRAME_DESCRIPTORS; n += 5) {
    tn_frame_t frame = header(sizeof frame, n);
    CHECK(streams_send(ends[0], &frame, sizeof frame, sent, n, -1) == TN_OK);
    tn_frame_t plain = header(sizeof plain, 0);
    CHECK(streams_send(ends[0], &plain, sizeof plain, NULL, 0, -1) == TN_OK);
    CHECK(receive(ends[1], -1) == TN_OK && count == n);
    for (size_t i = 0; i < count; i++) {
      CHECK((fcntl(taken[i], F_GETFD) & FD_CLOEXEC) != 0);
      close(taken[i]);
    }
    CHECK(receive(ends[1], -1) == TN_OK && count == 0);
  }
  /* All descriptors of a message with the wrong number of them are closed. */
  tn_frame_t frame = header(sizeof frame, 1);
  CHECK(streams_send(ends[0], &frame, sizeof frame, sent, 3, -1) == TN_OK);
  CHECK(receive(ends[1], -1) == TN_INVALID_ARGUMENT);
  CHECK(streams_send(ends[0], &frame, sizeof frame, sent, TN_FRAME_DESCRIPTORS + 1, -1) == TN_INVALID_ARGUMENT);
  for (size_t i = 0; i < TN_FRAME_DESCRIPTORS; i++) close(sent[i]);
  close(ends[0]);
  close(ends[1]);
  CHECK(comes_to(before));
}

typedef struct {
  int socket;
  const uint8_t *bytes;
  size_t length;
} rest_t;

static void *send_rest(void *data) {
  const rest_t *rest = data;
  usleep(20000);
  streams_send(rest->socket, rest->bytes, rest->length, NULL, 0, -1);
  return NULL;
}

TEST(streams_wait_for_the_rest_of_a_message_but_not_for_ever) {
  int32_t ends[2];
  CHECK(streams_pair(0, ends) == TN_OK);
  static uint8_t bytes[TN_FRAME_MAXIMUM];
  tn_frame_t frame = header(sizeof bytes, 0);
  memcpy(bytes, &frame, sizeof frame);
  rest_t rest = {ends[0], bytes + 30020, sizeof bytes - 30020};
  CHECK(send(ends[0], bytes, 20, 0) == 20 && send(ends[0], bytes + 20, 30000, 0) == 30000);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, send_rest, &rest) == 0);
  CHECK(receive(ends[1], 0) == TN_OK);
  pthread_join(thread, NULL);
  CHECK(receive(ends[1], 0) == TN_TIMED_OUT);
  CHECK(send(ends[0], bytes, 100, 0) == 100);
  CHECK(receive(ends[1], 0) == TN_INVALID_ARGUMENT);
  /* The boundaries of messages are lost. */
  CHECK(streams_send(ends[0], &frame, sizeof frame, NULL, 0, -1) == TN_CLOSED);
  close(ends[0]);
  close(ends[1]);
}

TEST(streams_end_at_malformed_messages) {
  for (int i = 0; i < 3; i++) {
    int32_t ends[2];
    CHECK(streams_pair(0, ends) == TN_OK);
    tn_frame_t frame = header(i == 0 ? sizeof frame : i == 1 ? 3 : TN_FRAME_MAXIMUM + 1, 0);
    if (i == 0) frame.magic = 5;
    CHECK(send(ends[0], &frame, sizeof frame, 0) == (ssize_t)sizeof frame);
    CHECK(receive(ends[1], -1) == TN_INVALID_ARGUMENT);
    CHECK(receive(ends[1], -1) == TN_CLOSED || receive(ends[1], 0) == TN_INVALID_ARGUMENT);
    close(ends[0]);
    close(ends[1]);
  }
}

TEST(streams_give_up_on_a_peer_that_does_not_read) {
  int32_t ends[2];
  CHECK(streams_pair(0, ends) == TN_OK);
  static uint8_t bytes[TN_FRAME_MAXIMUM];
  tn_frame_t frame = header(sizeof bytes, 0);
  memcpy(bytes, &frame, sizeof frame);
  int32_t status = TN_OK;
  for (int i = 0; i < 1000 && status == TN_OK; i++) status = streams_send(ends[0], bytes, sizeof bytes, NULL, 0, 1000000);
  CHECK(status == TN_TIMED_OUT || status == TN_CLOSED);
  close(ends[0]);
  close(ends[1]);
}

static void *echo(void *data) {
  int socket = *(int *)data;
  static uint8_t bytes[TN_FRAME_MAXIMUM];
  int32_t descriptors[TN_FRAME_DESCRIPTORS];
  size_t number;
  while (streams_receive(socket, bytes, descriptors, &number, -1) == TN_OK) {
    tn_frame_t frame;
    memcpy(&frame, bytes, sizeof frame);
    streams_send(socket, bytes, frame.length, NULL, 0, -1);
  }
  return NULL;
}

TEST(streams_connect_and_call) {
  char path[64];
  snprintf(path, sizeof path, "/tmp/tenon-stream-%d", (int)getpid());
  int32_t listener, client, server;
  CHECK(streams_listen(path, strlen(path), &listener) == TN_OK);
  CHECK(streams_accept(listener, &server) == TN_TIMED_OUT);
  CHECK(streams_connect(path, strlen(path), &client) == TN_OK);
  CHECK(streams_accept(listener, &server) == TN_OK);
  uint32_t user;
  CHECK(streams_peer(server, &user) == TN_OK && user == (uint32_t)getuid());
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, echo, &server) == 0);
  static uint8_t bytes[TN_FRAME_MAXIMUM];
  for (size_t length = sizeof(tn_frame_t); length <= sizeof bytes; length = length * 2 > sizeof bytes && length != sizeof bytes ? sizeof bytes : length * 2) {
    tn_frame_t frame = header(length, 0);
    memcpy(bytes, &frame, sizeof frame);
    const int64_t timeout = length % 2 == 0 ? -1 : 1000000000;
    CHECK(streams_send(client, bytes, length, NULL, 0, timeout) == TN_OK);
    CHECK(streams_receive(client, received, taken, &count, timeout) == TN_OK);
    CHECK(memcmp(bytes, received, length) == 0);
  }
  close(client);
  pthread_join(thread, NULL);
  close(server);
  close(listener);
  unlink(path);
}
#endif
