/* pools/posix/thread_memory.c, base/posix/owned.c: what the end of a thread of JavaScript closes. */
#if defined(__linux__)
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "check.h"
#include "environment.h"
#include "tenon_pools.h"

#define SIZE 8192

typedef struct {
  int32_t descriptor;
  void *address;
} memory_t;

static bool open_memory(memory_t *made) {
  const uint32_t flags = TN_MAPPING_SHARED | TN_MAPPING_OF_THREAD;
  return tn_shared_memory_create(SIZE, "test", 4, &made->descriptor) == TN_OK &&
         tn_mapping_open(made->descriptor, 0, SIZE, flags, &made->address) == TN_OK;
}

static bool close_memory(const memory_t *memory) {
  return tn_mapping_close(memory->address, SIZE) == TN_OK && tn_descriptor_close(memory->descriptor) == TN_OK;
}

static bool is_open(int32_t descriptor) { return fcntl(descriptor, F_GETFD) >= 0; }

/* Other threads close what is neither a socket nor sealed memory. */
static bool ends(int32_t descriptor) {
  for (const uint64_t end = tn__now_ms() + 20000; is_open(descriptor) && tn__now_ms() < end;) sleep_ms(1);
  return !is_open(descriptor);
}

static uint64_t count_mappings(void) {
  uint64_t count, size;
  tn_mapping_totals(&count, &size);
  return count;
}

TEST(the_end_of_a_thread_closes_what_is_open) {
  const uint64_t before = count_mappings();
  /* Twice, because the second environment of a thread needs another hook. */
  for (int round = 0; round < 2; round++) {
    environment_t *environment = environment_open();
    memory_t earlier, memories[3];
    CHECK(open_memory(&earlier));
    CHECK(tn_thread_memory_begin() == TN_OK);
    CHECK(tn_thread_memory_begin() == TN_OK);
    for (int i = 0; i < 3; i++) CHECK(open_memory(&memories[i]));
    CHECK(close_memory(&memories[1]));
    CHECK(tn_mapping_retire(memories[2].address, SIZE) == TN_OK);
    environment_close(environment);
    CHECK(!is_open(memories[0].descriptor) && !is_open(memories[2].descriptor));
    CHECK(is_open(earlier.descriptor));
    CHECK(count_mappings() == before + 1);
    CHECK(close_memory(&earlier));
  }
  CHECK(count_mappings() == before);
}

TEST(the_end_of_a_thread_closes_descriptors_of_all_kinds) {
  char path[64];
  snprintf(path, sizeof path, "/tmp/tenon-thread-memory-%d", (int)getpid());
  const size_t length = strlen(path);
  environment_t *environment = environment_open();
  CHECK(tn_thread_memory_begin() == TN_OK);
  int32_t all[9], received[TN_FRAME_DESCRIPTORS], discarded;
  CHECK(tn_shared_memory_create(SIZE, "test", 4, &all[0]) == TN_OK);
  CHECK(tn_descriptor_duplicate(all[0], &all[1]) == TN_OK);
  CHECK(tn_channel_pair(0, &all[2]) == TN_OK);
  CHECK(tn_channel_listen(path, length, &all[4]) == TN_OK);
  CHECK(tn_shared_memory_connect(path, length, 1000000000, &all[5]) == TN_OK);
  CHECK(tn_channel_accept(all[4], &all[6]) == TN_OK);
  CHECK(tn_poll_open(&all[7]) == TN_OK);
  char bytes[8] = {0};
  size_t size, count = 0;
  CHECK(tn_channel_send(all[2], bytes, sizeof bytes, all, 1, 0) == TN_OK);
  CHECK(tn_shared_memory_receive(all[3], bytes, sizeof bytes, &size, received, &count, 0) == TN_OK && count == 1);
  all[8] = received[0];
  CHECK(tn_descriptor_duplicate(all[0], &discarded) == TN_OK);
  CHECK(tn_descriptor_discard(discarded) == TN_OK);
  CHECK(ends(discarded));
  for (int i = 0; i < 9; i++) CHECK(is_open(all[i]));
  environment_close(environment);
  for (int i = 0; i < 9; i++) CHECK(ends(all[i]));
  unlink(path);
}

TEST(a_number_that_is_in_use_again_stays_open) {
  environment_t *environment = environment_open();
  CHECK(tn_thread_memory_begin() == TN_OK);
  int32_t closed, left;
  CHECK(tn_shared_memory_create(SIZE, "test", 4, &closed) == TN_OK);
  CHECK(tn_shared_memory_create(SIZE, "test", 4, &left) == TN_OK);
  CHECK(tn_descriptor_close(closed) == TN_OK);
  tn_thread_memory_leave(left);
  /* The lowest free number is used again, by something that is not the core. */
  CHECK(fcntl(left, F_DUPFD_CLOEXEC, closed) == closed);
  environment_close(environment);
  CHECK(is_open(closed) && is_open(left));
  CHECK(close(closed) == 0 && close(left) == 0);
}

static void *close_it(void *descriptor) { return tn_descriptor_close(*(const int32_t *)descriptor) == TN_OK ? descriptor : NULL; }

TEST(another_thread_may_close_a_descriptor) {
  environment_t *environment = environment_open();
  CHECK(tn_thread_memory_begin() == TN_OK);
  int32_t descriptor;
  CHECK(tn_shared_memory_create(SIZE, "test", 4, &descriptor) == TN_OK);
  pthread_t other;
  void *result;
  CHECK(pthread_create(&other, NULL, close_it, &descriptor) == 0 && pthread_join(other, &result) == 0);
  CHECK(result == &descriptor);
  CHECK(fcntl(0, F_DUPFD_CLOEXEC, descriptor) == descriptor);
  environment_close(environment);
  CHECK(is_open(descriptor));
  CHECK(close(descriptor) == 0);
}

static void *open_and_end(void *out) {
  environment_t *environment = environment_open();
  const bool is_open = tn_thread_memory_begin() == TN_OK && open_memory(out);
  environment_close(environment);
  return is_open ? out : NULL;
}

TEST(the_end_of_a_thread_leaves_the_memory_of_other_threads) {
  environment_t *environment = environment_open();
  CHECK(tn_thread_memory_begin() == TN_OK);
  const uint64_t before = count_mappings();
  memory_t own, others;
  CHECK(open_memory(&own));
  pthread_t other;
  void *result;
  CHECK(pthread_create(&other, NULL, open_and_end, &others) == 0 && pthread_join(other, &result) == 0);
  CHECK(result == &others);
  CHECK(is_open(own.descriptor) && !is_open(others.descriptor));
  CHECK(count_mappings() == before + 1);
  environment_close(environment);
  CHECK(!is_open(own.descriptor));
  CHECK(count_mappings() == before);
}

TEST(a_thread_without_javascript_owns_nothing) { CHECK(tn_thread_memory_begin() == TN_CLOSED); }
#endif
