/* What workers get from their client, and what they can do to it. */
#include "check.h"

#if defined(__GLIBC__) /* which workers need */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "posix/descriptors.h"
#include "worker.h"

TEST(workers_do_not_start_without_descriptors_and_say_so) {
  struct rlimit normal, few;
  CHECK(getrlimit(RLIMIT_NOFILE, &normal) == 0);
  const int descriptors = open_descriptors();
  tn_host_t *host;
  /* Each limit ends the start at another of its steps. */
  for (int more = 0; more < 120; more++) {
    few = (struct rlimit){.rlim_cur = (rlim_t)(descriptors + more), .rlim_max = normal.rlim_max};
    CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
    const int32_t status = start_program(program(), TN_HOST_CAPTURE, &host);
    CHECK(setrlimit(RLIMIT_NOFILE, &normal) == 0);
    if (status == TN_OK)
      tn_host_close(host);
    else
      CHECK(status == TN_SYSTEM && strlen(tn_last_error()) > 10);
    CHECK(comes_to(descriptors) && tn_host_live() == 0 && tn_host_unreaped() == 0);
  }
}

/* Whether the worker has a descriptor open. Only a process with rights of its own may ask. */
static bool has_open(tn_host_t *host, int descriptor) {
  char path[64], target[8];
  snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)info_of(host).process, descriptor);
  return readlink(path, target, sizeof target) >= 0;
}

TEST(workers_have_no_descriptors_of_their_client) {
  /* Numbers without close-on-exec: those of the pipes of a worker whose output is not captured, and others. */
  enum { FIRST = 6, COUNT = 30 };
  bool is_mine[COUNT];
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  CHECK(null >= 0);
  for (int i = 0; i < COUNT; i++) {
    is_mine[i] = fcntl(FIRST + i, F_GETFD) < 0;
    if (is_mine[i]) CHECK(dup2(null, FIRST + i) == FIRST + i);
  }
  bool was_mine = false;
  for (int captures = 0; captures < 2; captures++) {
    tn_host_t *host;
    CHECK(start_program(program(), captures == 1 ? TN_HOST_CAPTURE | TN_HOST_CORE_DUMPS : TN_HOST_CORE_DUMPS, &host) == TN_OK);
    CHECK(tn_host_wait(host, 0, 10 * (int64_t)SECOND) == TN_OK);
    CHECK(has_open(host, TN_HOST_CONTROL) && has_open(host, TN_HOST_DOORBELL) && has_open(host, TN_HOST_COMMAND));
    CHECK(has_open(host, TN_HOST_STDOUT) == (captures == 1) && has_open(host, TN_HOST_STDERR) == (captures == 1));
    for (int number = TN_HOST_STDERR + 1; number < 256; number++) CHECK(!has_open(host, number));
    tn_host_close(host);
  }
  for (int i = 0; i < COUNT; i++)
    if (is_mine[i]) {
      was_mine = true;
      close(FIRST + i);
    }
  CHECK(was_mine && close(null) == 0);
}

TEST(workers_without_capture_have_the_streams_of_their_client) {
  /* As in Node.js, which makes all descriptors close-on-exec. */
  int flags[3];
  for (int stream = 1; stream <= 2; stream++) {
    flags[stream] = fcntl(stream, F_GETFD);
    CHECK(flags[stream] >= 0 && fcntl(stream, F_SETFD, FD_CLOEXEC) == 0);
  }
  tn_host_t *host;
  CHECK(start_program(program(), TN_HOST_CORE_DUMPS, &host) == TN_OK);
  CHECK(tn_host_wait(host, 0, 10 * (int64_t)SECOND) == TN_OK);
  for (int stream = 1; stream <= 2; stream++) {
    CHECK(has_open(host, stream));
    CHECK(fcntl(stream, F_SETFD, flags[stream]) == 0);
  }
  tn_host_close(host);
}

TEST(workers_have_the_environment_they_are_given_and_no_other) {
  CHECK(setenv("TENON_TEST_SECRET", "1", 1) == 0);
  tn_host_t *host;
  CHECK(start_program(program(), TN_HOST_CORE_DUMPS, &host) == TN_OK);
  CHECK(tn_host_wait(host, 0, 10 * (int64_t)SECOND) == TN_OK);
  char path[64], environment[256];
  snprintf(path, sizeof path, "/proc/%d/environ", (int)info_of(host).process);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  CHECK(file >= 0);
  const ssize_t length = read(file, environment, sizeof environment);
  CHECK(length == sizeof "PATH=/usr/bin:/bin" && memcmp(environment, "PATH=/usr/bin:/bin", sizeof "PATH=/usr/bin:/bin") == 0);
  close(file);
  unsetenv("TENON_TEST_SECRET");
  tn_host_close(host);
}

/* A generator of xorshift, so that a failure can be repeated. */
static uint64_t next_random(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

/* Writes random words, and words that have a meaning, over command memory, as a hostile kernel would. Does not return. */
static void overwrite(tn_host_t *host) {
  uint8_t *command = info_of(host).command;
  uint64_t state = 0x9e3779b97f4a7c15u + (uint64_t)info_of(host).process;
  for (;;) {
    const uint64_t random = next_random(&state);
    const uint32_t words[] = {0, 1, 2, 3, 4, UINT32_MAX, (uint32_t)info_of(host).process, (uint32_t)(random >> 32)};
    /* The header is small, and has most words that the client reads. */
    const size_t place = random % 4 == 0 ? (random >> 8) % TN_HOST_COMMAND_SIZE : (random >> 8) % 1200;
    atomic_store((_Atomic uint32_t *)(void *)(command + place / 4 * 4), words[(random >> 40) % 8]);
    if (random % 64 == 0) sched_yield();
  }
}

TEST(clients_survive_random_words_in_command_memory) {
  const int descriptors = open_descriptors();
  for (int i = 0; i < 20; i++) {
    tn_host_t *hosts[2] = {start(), start()};
    CHECK(hosts[0] != NULL && hosts[1] != NULL);
    const pid_t writer = fork();
    if (writer == 0) overwrite(hosts[0]);
    CHECK(writer > 0);
    for (uint32_t call = 1; call < 40; call++) {
      const uint32_t slot = call % TN_HOST_SLOTS, seen[] = {call, header_of(hosts[1])->responses};
      ask(hosts[0], slot);
      int32_t status = tn_host_exchange(hosts[0], slot, SECOND / 1000);
      CHECK(status == TN_OK || status == TN_TIMED_OUT || status == TN_CLOSED);
      status = tn_host_wait_any(hosts, seen, 2, SECOND / 1000);
      CHECK(status == TN_OK || status == TN_TIMED_OUT);
      CHECK(tn_host_post(hosts[0], call % 2) == TN_OK && tn_host_cancel(hosts[0], call) == TN_OK);
      CHECK(tn_host_drain(hosts[0]) == TN_OK);
      /* The other worker does not notice. */
      ask(hosts[1], slot);
      CHECK(tn_host_exchange(hosts[1], slot, 10 * (int64_t)SECOND) == TN_OK && slot_of(hosts[1], slot)->status == TN_OK);
    }
    /* Its end is noticed whatever the memory says, also while it is written over. */
    kill((pid_t)info_of(hosts[0]).process, SIGKILL);
    int32_t kind, value;
    CHECK(tn_host_reap(hosts[0], 10 * (int64_t)SECOND, &kind, &value) == TN_OK);
    kill(writer, SIGKILL);
    CHECK(waitpid(writer, NULL, 0) == writer);
    ask(hosts[0], 5);
    CHECK(tn_host_wait(hosts[0], 5, -1) == TN_CLOSED);
    tn_host_close(hosts[0]);
    tn_host_close(hosts[1]);
  }
  CHECK(comes_to(descriptors) && tn_host_live() == 0 && tn_host_unreaped() == 0);
}
#endif
