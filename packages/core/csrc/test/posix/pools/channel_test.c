/* posix/channel.c and message.c: messages, descriptors, and malicious peers. */
#if defined(__linux__)
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "posix/descriptors.h"
#include "tenon_pools.h"

static uint8_t received[TN_FRAME_MAXIMUM];
static int32_t received_descriptors[TN_FRAME_DESCRIPTORS];
static size_t received_count;

static int32_t receive(int32_t channel) {
  return tn_channel_receive(channel, received, received_descriptors, &received_count, 0);
}

static tn_frame_t header(size_t length, size_t descriptors) {
  return (tn_frame_t){.magic = TN_FRAME_MAGIC,
                      .version = TN_FRAME_VERSION,
                      .operation = 1,
                      .length = (uint32_t)length,
                      .descriptors = (uint16_t)descriptors,
                      .id = 1};
}

/* Sends bytes with any number of descriptors and with control data of any size, like a malicious peer. */
static void send_raw(int32_t channel, const void *bytes, size_t length, size_t descriptors) {
  struct iovec part = {(void *)(uintptr_t)bytes, length};
  size_t room = CMSG_SPACE(sizeof(int) * descriptors);
  struct cmsghdr *control = calloc(1, room);
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  if (descriptors > 0) {
    message.msg_control = control;
    message.msg_controllen = room;
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(sizeof(int) * descriptors);
    for (size_t i = 0; i < descriptors; i++) {
      int descriptor = 2;
      memcpy(CMSG_DATA(control) + i * sizeof(int), &descriptor, sizeof descriptor);
    }
  }
  if (sendmsg(channel, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) abort();
  free(control);
}

TEST(messages_arrive_with_their_descriptors) {
  int32_t ends[2], descriptors[2] = {1, 2};
  int before = open_descriptors();
  CHECK(tn_channel_pair(0, ends) == TN_OK);
  tn_frame_t frame = header(sizeof frame, 2);
  CHECK(tn_channel_send(ends[0], &frame, sizeof frame, descriptors, 2, -1) == TN_OK);
  CHECK(receive(ends[1]) == TN_OK && received_count == 2);
  CHECK(received_descriptors[0] > 2 && received_descriptors[1] > 2);
  tn_descriptor_close(received_descriptors[0]);
  tn_descriptor_close(received_descriptors[1]);
  CHECK(receive(ends[1]) == TN_TIMED_OUT);
  CHECK(tn_descriptor_close(ends[0]) == TN_OK);
  CHECK(receive(ends[1]) == TN_CLOSED);
  CHECK(tn_channel_send(ends[1], &frame, sizeof frame, NULL, 0, -1) == TN_CLOSED);
  CHECK(tn_descriptor_close(ends[1]) == TN_OK);
  CHECK(comes_to(before));
}

#if defined(__GLIBC__)
enum { MOST_DESCRIPTORS = 253 };
#else
enum { MOST_DESCRIPTORS = 252 }; /* musl sends at most 1024 bytes of control data */
#endif

TEST(descriptors_of_malformed_messages_are_closed) {
  int32_t ends[2];
  CHECK(tn_channel_pair(0, ends) == TN_OK);
  int before = open_descriptors();
  const size_t counts[] = {1, 3, TN_FRAME_DESCRIPTORS, TN_FRAME_DESCRIPTORS + 1, TN_FRAME_DESCRIPTORS + 2,
                           100, MOST_DESCRIPTORS};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    tn_frame_t frame = header(sizeof frame, 0);
    send_raw(ends[0], &frame, sizeof frame, counts[i]);
    CHECK(receive(ends[1]) == TN_INVALID_ARGUMENT);
    frame = header(sizeof frame, counts[i]);
    send_raw(ends[0], &frame, sizeof frame, counts[i]);
    CHECK((receive(ends[1]) == TN_OK) == (counts[i] <= TN_FRAME_DESCRIPTORS));
    if (counts[i] <= TN_FRAME_DESCRIPTORS) {
      for (size_t k = 0; k < received_count; k++) tn_descriptor_close(received_descriptors[k]);
    }
    CHECK(comes_to(before));
  }
  tn_descriptor_close(ends[0]);
  tn_descriptor_close(ends[1]);
}

TEST(a_message_that_is_too_long_is_refused_with_its_descriptors) {
  int32_t ends[2];
  CHECK(tn_channel_pair(0, ends) == TN_OK);
  int before = open_descriptors();
  uint8_t *bytes = calloc(1, TN_FRAME_MAXIMUM + 1);
  tn_frame_t frame = header(TN_FRAME_MAXIMUM, 1);
  memcpy(bytes, &frame, sizeof frame);
  send_raw(ends[0], bytes, TN_FRAME_MAXIMUM + 1, 1);
  CHECK(receive(ends[1]) == TN_INVALID_ARGUMENT);
  send_raw(ends[0], bytes, TN_FRAME_MAXIMUM, 1);
  CHECK(receive(ends[1]) == TN_OK);
  tn_descriptor_close(received_descriptors[0]);
  free(bytes);
  CHECK(comes_to(before));
  tn_descriptor_close(ends[0]);
  tn_descriptor_close(ends[1]);
}

TEST(a_peer_that_does_not_read_times_the_sender_out) {
  int32_t ends[2];
  CHECK(tn_channel_pair(0, ends) == TN_OK);
  tn_frame_t frame = header(sizeof frame, 0);
  int32_t status = TN_OK;
  for (int i = 0; i < 100000 && status == TN_OK; i++) status = tn_channel_send(ends[0], &frame, sizeof frame, NULL, 0, 1000000);
  CHECK(status == TN_TIMED_OUT);
  CHECK(receive(ends[1]) == TN_OK);
  CHECK(tn_channel_send(ends[0], &frame, sizeof frame, NULL, 0, 1000000) == TN_OK);
  tn_descriptor_close(ends[0]);
  tn_descriptor_close(ends[1]);
}

TEST(polling_finds_the_sockets_that_are_ready) {
  int32_t first[2], second[2];
  CHECK(tn_channel_pair(0, first) == TN_OK && tn_channel_pair(0, second) == TN_OK);
  int32_t list[2] = {first[1], second[1]};
  uint8_t ready[2] = {9, 9};
  CHECK(tn_channel_poll(list, 2, 0, ready) == TN_TIMED_OUT && ready[0] == 0 && ready[1] == 0);
  tn_descriptor_close(second[0]);
  CHECK(tn_channel_poll(list, 2, -1, ready) == TN_OK && ready[0] == 0 && ready[1] == 1);
  tn_descriptor_close(first[0]);
  tn_descriptor_close(first[1]);
  tn_descriptor_close(second[1]);
}

TEST(ringing_never_blocks) {
  int32_t ends[2];
  CHECK(tn_channel_pair(1, ends) == TN_OK);
  for (int i = 0; i < 1000000; i++) {
    if (tn_channel_ring(ends[0]) != TN_OK) check_fail(__FILE__, __LINE__, "ring %d", i);
  }
  tn_descriptor_close(ends[1]);
  CHECK(tn_channel_ring(ends[0]) == TN_CLOSED);
  tn_descriptor_close(ends[0]);
}

TEST(clients_connect_at_a_path) {
  char path[64];
  int length = snprintf(path, sizeof path, "/tmp/tenon-channel-%d", (int)getpid());
  unlink(path);
  int32_t listener = -1, client = -1, server = -1;
  CHECK(tn_channel_connect(path, (size_t)length, &client) == TN_SYSTEM);
  CHECK(tn_channel_listen(path, (size_t)length, &listener) == TN_OK);
  CHECK(tn_channel_accept(listener, &server) == TN_TIMED_OUT);
  CHECK(tn_channel_connect(path, (size_t)length, &client) == TN_OK);
  CHECK(tn_channel_accept(listener, &server) == TN_OK);
  uint32_t user = 0;
  CHECK(tn_channel_peer(server, &user) == TN_OK && user == (uint32_t)getuid());
  tn_frame_t frame = header(sizeof frame, 0);
  CHECK(tn_channel_send(client, &frame, sizeof frame, NULL, 0, -1) == TN_OK && receive(server) == TN_OK);
  tn_descriptor_close(listener);
  CHECK(tn_channel_connect(path, (size_t)length, &listener) == TN_CLOSED);
  tn_descriptor_close(client);
  tn_descriptor_close(server);
  unlink(path);
  char longest[200];
  memset(longest, 'x', sizeof longest);
  CHECK(tn_channel_connect(longest, sizeof longest, &client) == TN_INVALID_ARGUMENT);
}

TEST(a_message_with_wrong_fields_is_refused) {
  struct {
    tn_frame_t frame;
    uint8_t body[8];
  } message;
  memset(&message, 0, sizeof message);
  const size_t size = sizeof message;
  message.frame = header(size, 0);
  CHECK(tn_frame_check(&message, size, 0) == TN_OK);
  CHECK(tn_frame_check(&message, size - 1, 0) == TN_INVALID_ARGUMENT);
  CHECK(tn_frame_check(&message, sizeof(tn_frame_t) - 1, 0) == TN_INVALID_ARGUMENT);
  CHECK(tn_frame_check(&message, 0, 0) == TN_INVALID_ARGUMENT);
  CHECK(tn_frame_check(&message, size, 1) == TN_INVALID_ARGUMENT);
#define WITH(field, value)                                              \
  do {                                                                  \
    tn_frame_t saved = message.frame;                                   \
    message.frame.field = (value);                                      \
    CHECK(tn_frame_check(&message, size, 0) == TN_INVALID_ARGUMENT);    \
    message.frame = saved;                                              \
  } while (0)
  WITH(magic, 0);
  WITH(version, 2);
  WITH(operation, 0);
  WITH(operation, TN_FRAME_OPERATIONS + 1);
  WITH(operation, 0x4000 | 1);
  WITH(length, (uint32_t)size + 1);
  WITH(descriptors, 1);
  WITH(flags, 2);
  WITH(priority, 3);
  WITH(status, 1);
  /* A malformed request to execute, with a body of eight bytes. */
  WITH(operation, TN_FRAME_EXECUTE);
  WITH(operation, TN_FRAME_EXECUTE | TN_FRAME_REPLY);
#undef WITH
}
#endif
