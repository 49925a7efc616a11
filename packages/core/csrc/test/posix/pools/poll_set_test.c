/* Sets of descriptors, and the ends of channels. */
#if !defined(_WIN32)
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "tenon_pools.h"

static size_t ready_in(int32_t set, int64_t timeout, int32_t *ready) {
  size_t count = 0;
  return tn_poll_wait(set, timeout, ready, 8, &count) == TN_OK ? count : 0;
}

TEST(a_set_reports_what_is_readable_and_whose_peer_is_gone) {
  int32_t set, one[2], other[2], ready[8];
  CHECK(tn_poll_open(&set) == TN_OK);
  CHECK(tn_channel_pair(1, one) == TN_OK && tn_channel_pair(1, other) == TN_OK);
  CHECK(tn_poll_add(set, one[0], 1) == TN_OK && tn_poll_add(set, other[0], 0) == TN_OK);
  CHECK(ready_in(set, 0, ready) == 0);
  CHECK(ready_in(set, 1000000, ready) == 0);
  struct pollfd entry = {.fd = set, .events = POLLIN};
  CHECK(poll(&entry, 1, 0) == 0);
  /* Bytes are reported for the first only. */
  CHECK(tn_channel_ring(one[1]) == TN_OK && tn_channel_ring(other[1]) == TN_OK);
  CHECK(poll(&entry, 1, 0) == 1);
  CHECK(ready_in(set, -1, ready) == 1 && ready[0] == one[0]);
  CHECK(tn_poll_remove(set, one[0]) == TN_OK);
  CHECK(ready_in(set, 0, ready) == 0);
  close(other[1]);
  CHECK(ready_in(set, 1000000, ready) == 1 && ready[0] == other[0]);
  CHECK(tn_poll_remove(set, other[0]) == TN_OK && tn_poll_remove(set, other[0]) == TN_SYSTEM);
  size_t count;
  CHECK(tn_poll_wait(set, 0, ready, 0, &count) == TN_INVALID_ARGUMENT);
  CHECK(tn_poll_add(set, -1, 1) == TN_SYSTEM);
  for (int i = 0; i < 2; i++) close(one[i]);
  close(other[0]);
  close(set);
}

TEST(a_connection_that_is_shut_ends_for_all_who_have_it) {
  int32_t ends[2];
  CHECK(tn_channel_pair(0, ends) == TN_OK);
  const int other = dup(ends[0]);
  CHECK(tn_channel_shut(other) == TN_OK && tn_channel_shut(other) == TN_OK);
  uint8_t bytes[1];
  CHECK(read(ends[0], bytes, 1) == 0 && read(ends[1], bytes, 1) == 0);
  close(ends[0]);
  close(ends[1]);
  close(other);
  CHECK(tn_channel_shut(other) != TN_OK);
}

TEST(a_fence_that_is_shut_has_failed_unless_it_was_signalled) {
  for (int is_signalled = 0; is_signalled < 2; is_signalled++) {
    int32_t ends[2], status = 99;
    CHECK(tn_channel_pair(1, ends) == TN_OK);
    if (is_signalled) CHECK(tn_channel_ring(ends[1]) == TN_OK);
    CHECK(tn_channel_shut(ends[0]) == TN_OK);
    CHECK(tn_fence_status(ends[0], &status) == TN_OK);
    CHECK(status == (is_signalled ? TN_FENCE_SIGNALED : TN_FENCE_FAILED));
    /* A signal that comes later changes nothing. */
    tn_channel_ring(ends[1]);
    CHECK(tn_fence_status(ends[0], &status) == TN_OK);
    CHECK(status == (is_signalled ? TN_FENCE_SIGNALED : TN_FENCE_FAILED));
    close(ends[0]);
    close(ends[1]);
  }
}

TEST(a_process_ends_with_the_peer_of_its_channel) {
  int32_t ends[2];
  CHECK(tn_channel_pair(0, ends) == TN_OK);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    if (tn_channel_exit_with_peer(ends[1]) != TN_OK) _exit(1);
    for (volatile int spin = 1; spin;) continue;
  }
  close(ends[1]);
  usleep(20000);
  CHECK(waitpid(child, NULL, WNOHANG) == 0);
  close(ends[0]);
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(the_limit_of_descriptors_is_known) {
  uint64_t limit = 0;
  CHECK(tn_descriptor_limit(&limit) == TN_OK && limit > 8);
  CHECK(tn_descriptor_limit(NULL) == TN_INVALID_ARGUMENT);
}
#endif
