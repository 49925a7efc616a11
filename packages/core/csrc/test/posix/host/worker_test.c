/* Workers as their client sees them: tests start tenon-host, which is beside the core. */
#include "check.h"

#if defined(__GLIBC__) /* which workers need */
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "posix/descriptors.h"
#include "worker.h"

TEST(worker_answers_hello) {
  tn_host_t *host = start();
  CHECK(host != NULL);
  const tn_host_slot_t *slot = slot_of(host, 0);
  tn_host_hello_t hello;
  memcpy(&hello, info_of(host).command + TN_HOST_BODIES_OFFSET, sizeof hello);
  CHECK(slot->state == TN_HOST_DONE && slot->status == TN_OK && slot->length == sizeof hello);
  CHECK(hello.version == TN_HOST_VERSION && hello.process == (uint64_t)info_of(host).process);
  CHECK(hello.is_filtered == 1);
  tn_host_close(host);
}

TEST(worker_answers_in_order_in_all_slots) {
  tn_host_t *host = start();
  CHECK(host != NULL);
  for (uint32_t i = 1; i < 200; i++) {
    const uint32_t slot = i % TN_HOST_SLOTS;
    ask(host, slot);
    CHECK(tn_host_exchange(host, slot, 10 * (int64_t)SECOND) == TN_OK);
    CHECK(slot_of(host, slot)->status == TN_OK && slot_of(host, slot)->id == slot + 1);
  }
  for (uint32_t i = 200; i < 200 + TN_HOST_SLOTS; i++) ask(host, i % TN_HOST_SLOTS);
  CHECK(tn_host_post(host, 0) == TN_OK);
  CHECK(tn_host_wait(host, (200 + TN_HOST_SLOTS - 1) % TN_HOST_SLOTS, 10 * (int64_t)SECOND) == TN_OK);
  for (uint32_t i = 0; i < TN_HOST_SLOTS; i++) CHECK(slot_of(host, i)->state == TN_HOST_DONE);
  tn_host_close(host);
}

static bool is_readable(int descriptor, int milliseconds) {
  struct pollfd entry = {.fd = descriptor, .events = POLLIN};
  return poll(&entry, 1, milliseconds) == 1;
}

TEST(worker_rings_the_doorbell_only_if_it_is_asked_to) {
  tn_host_t *host = start();
  CHECK(host != NULL);
  const int doorbell = info_of(host).doorbell;
  ask(host, 1);
  CHECK(tn_host_exchange(host, 1, 10 * (int64_t)SECOND) == TN_OK && !is_readable(doorbell, 0));
  ask(host, 2);
  CHECK(tn_host_post(host, 1) == TN_OK && is_readable(doorbell, 10000));
  CHECK(tn_host_drain(host) == TN_OK && !is_readable(doorbell, 0));
  /* It may have rung for the response before, and then it is asked again. */
  while (*(_Atomic uint32_t *)&slot_of(host, 2)->state != TN_HOST_DONE) {
    CHECK(tn_host_post(host, 1) == TN_OK);
    if (*(_Atomic uint32_t *)&slot_of(host, 2)->state != TN_HOST_DONE) CHECK(is_readable(doorbell, 10000));
    tn_host_drain(host);
  }
  tn_host_close(host);
}

TEST(worker_whose_life_word_is_damaged_is_polled) {
  const uint32_t offsets[] = {0, 4, UINT32_MAX, 193, 256};
  for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
    tn_host_t *host = start();
    CHECK(host != NULL);
    header_of(host)->life_offset = offsets[i];
    for (uint32_t slot = 1; slot < 10; slot++) {
      ask(host, slot);
      CHECK(tn_host_exchange(host, slot, 10 * (int64_t)SECOND) == TN_OK);
    }
    kill((pid_t)info_of(host).process, SIGKILL);
    ask(host, 10);
    CHECK(tn_host_exchange(host, 10, -1) == TN_CLOSED);
    tn_host_close(host);
  }
}

static uint64_t processor_time(void) {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec;
}

TEST(worker_whose_life_word_and_doorbell_are_damaged_does_not_keep_its_client_busy) {
  tn_host_t *hosts[2] = {start(), start()};
  CHECK(hosts[0] != NULL && hosts[1] != NULL);
  header_of(hosts[0])->life_offset = 0;
  /* The client reads the end of the stream, as it does after its worker has closed the doorbell. */
  CHECK(shutdown(info_of(hosts[0]).doorbell, SHUT_RD) == 0);
  const pid_t process = (pid_t)info_of(hosts[0]).process;
  kill(process, SIGSTOP);
  ask(hosts[0], 1);
  uint64_t before = processor_time();
  CHECK(tn_host_exchange(hosts[0], 1, SECOND) == TN_TIMED_OUT);
  CHECK(processor_time() - before < SECOND / 4);
  const uint32_t seen[] = {header_of(hosts[0])->responses, header_of(hosts[1])->responses};
  before = processor_time();
  CHECK(tn_host_wait_any(hosts, seen, 2, SECOND) == TN_TIMED_OUT);
  CHECK(processor_time() - before < SECOND / 4);
  /* Answers and ends are seen nevertheless. */
  kill(process, SIGCONT);
  CHECK(tn_host_wait(hosts[0], 1, 10 * (int64_t)SECOND) == TN_OK);
  for (uint32_t slot = 2; slot < 10; slot++) {
    ask(hosts[0], slot);
    CHECK(tn_host_exchange(hosts[0], slot, 10 * (int64_t)SECOND) == TN_OK);
  }
  kill(process, SIGKILL);
  ask(hosts[0], 10);
  CHECK(tn_host_exchange(hosts[0], 10, 10 * (int64_t)SECOND) == TN_CLOSED);
  tn_host_close(hosts[0]);
  tn_host_close(hosts[1]);
}

TEST(waiting_ends_with_a_worker_whose_life_word_says_that_it_runs) {
  tn_host_t *host = start();
  CHECK(host != NULL);
  const tn_host_info_t info = info_of(host);
  _Atomic uint32_t *life = (_Atomic uint32_t *)(void *)(info.command + header_of(host)->life_offset);
  kill((pid_t)info.process, SIGKILL);
  CHECK(is_readable(info.lifeline, 10000));
  /* As after a kernel has emptied the list of robust mutexes of its thread. */
  *life = (uint32_t)info.process | FUTEX_WAITERS;
  ask(host, 1);
  CHECK(tn_host_wait(host, 1, 10 * (int64_t)SECOND) == TN_CLOSED);
  const uint32_t seen = header_of(host)->responses;
  CHECK(tn_host_wait_any(&host, &seen, 1, 10 * (int64_t)SECOND) == TN_OK);
  tn_host_close(host);
}

TEST(worker_and_caller_keep_their_processors_after_exchanges) {
  tn_host_t *host = start();
  CHECK(host != NULL);
  const pid_t process = (pid_t)info_of(host).process;
  cpu_set_t caller, worker, now;
  CHECK(sched_getaffinity(0, sizeof caller, &caller) == 0 && sched_getaffinity(process, sizeof worker, &worker) == 0);
  for (uint32_t i = 1; i < 1000; i++) {
    ask(host, i % TN_HOST_SLOTS);
    CHECK(tn_host_exchange(host, i % TN_HOST_SLOTS, 10 * (int64_t)SECOND) == TN_OK);
    CHECK(sched_getaffinity(0, sizeof now, &now) == 0 && CPU_EQUAL(&now, &caller));
    CHECK(sched_getaffinity(process, sizeof now, &now) == 0 && CPU_EQUAL(&now, &worker));
  }
  /* Also if the worker dies meanwhile, or does not answer. */
  kill(process, SIGSTOP);
  ask(host, 1000 % TN_HOST_SLOTS);
  CHECK(tn_host_exchange(host, 1000 % TN_HOST_SLOTS, SECOND / 100) == TN_TIMED_OUT);
  CHECK(sched_getaffinity(0, sizeof now, &now) == 0 && CPU_EQUAL(&now, &caller));
  kill(process, SIGKILL);
  CHECK(tn_host_exchange(host, 1000 % TN_HOST_SLOTS, -1) == TN_CLOSED);
  CHECK(sched_getaffinity(0, sizeof now, &now) == 0 && CPU_EQUAL(&now, &caller));
  tn_host_close(host);
}

static void *kill_later(void *data) {
  usleep(30000);
  kill((pid_t)(intptr_t)data, SIGKILL);
  return NULL;
}

TEST(waiting_ends_when_the_worker_does) {
  tn_host_t *host = start();
  CHECK(host != NULL);
  const pid_t process = (pid_t)info_of(host).process;
  kill(process, SIGSTOP);
  ask(host, 1);
  CHECK(tn_host_exchange(host, 1, SECOND / 50) == TN_TIMED_OUT);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, kill_later, (void *)(intptr_t)process) == 0);
  CHECK(tn_host_wait(host, 1, -1) == TN_CLOSED);
  pthread_join(thread, NULL);
  int32_t kind, value;
  CHECK(tn_host_reap(host, 10 * (int64_t)SECOND, &kind, &value) == TN_OK && kind == 2 && value == SIGKILL);
  CHECK(tn_host_reap(host, 0, &kind, &value) == TN_OK && kind == 2 && value == SIGKILL);
  tn_host_close(host);
}

TEST(reaping_a_worker_that_runs_times_out) {
  tn_host_t *host = start();
  CHECK(host != NULL);
  int32_t kind, value;
  CHECK(tn_host_reap(host, 0, &kind, &value) == TN_TIMED_OUT);
  CHECK(tn_host_reap(host, SECOND / 100, &kind, &value) == TN_TIMED_OUT);
  CHECK(tn_host_kill(host) == TN_OK);
  CHECK(tn_host_reap(host, -1, &kind, &value) == TN_OK && kind == 2 && value == SIGKILL);
  tn_host_close(host);
}

TEST(waiting_for_any_worker_ends_with_the_first_response) {
  tn_host_t *hosts[2] = {start(), start()};
  CHECK(hosts[0] != NULL && hosts[1] != NULL);
  uint32_t seen[] = {header_of(hosts[0])->responses, header_of(hosts[1])->responses};
  CHECK(tn_host_wait_any(hosts, seen, 2, SECOND / 100) == TN_TIMED_OUT);
  ask(hosts[1], 1);
  CHECK(tn_host_post(hosts[1], 0) == TN_OK && tn_host_wait_any(hosts, seen, 2, -1) == TN_OK);
  CHECK(header_of(hosts[1])->responses == seen[1] + 1);
  seen[1]++;
  kill((pid_t)info_of(hosts[0]).process, SIGKILL);
  CHECK(tn_host_wait_any(hosts, seen, 2, -1) == TN_OK);
  tn_host_close(hosts[0]);
  tn_host_close(hosts[1]);
}

TEST(programs_that_do_not_start_leave_nothing_behind) {
  const int descriptors = open_descriptors();
  const size_t live = tn_host_live();
  tn_host_t *host;
  CHECK(start_program("/no/such/program", 0, &host) == TN_SYSTEM);
  CHECK(start_program("/", TN_HOST_CAPTURE, &host) == TN_SYSTEM);
  CHECK(comes_to(descriptors) && tn_host_live() == live && tn_host_unreaped() == live);
  /* A program that is not a worker ends, and the client is told. */
  CHECK(start_program("/bin/true", TN_HOST_CAPTURE, &host) == TN_OK);
  CHECK(tn_host_wait(host, 0, -1) == TN_CLOSED);
  int32_t kind, value;
  CHECK(tn_host_reap(host, -1, &kind, &value) == TN_OK && kind == 1 && value == 0);
  tn_host_close(host);
  CHECK(open_descriptors() == descriptors && tn_host_live() == live);
}

TEST(workers_leave_no_descriptors_behind) {
  const int descriptors = open_descriptors();
  for (int i = 0; i < 20; i++) {
    tn_host_t *host = start();
    CHECK(host != NULL);
    tn_host_close(host);
  }
  CHECK(comes_to(descriptors) && tn_host_live() == 0 && tn_host_unreaped() == 0);
}

/* Starts a worker, writes the number of its process, and dies. */
static void die_with_worker(int to) {
  tn_host_t *host = start();
  const int64_t process = host == NULL ? 0 : info_of(host).process;
  if (write(to, &process, sizeof process) == sizeof process) kill(getpid(), SIGKILL);
  _exit(1);
}

TEST(workers_end_with_their_client) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  const pid_t client = fork();
  if (client == 0) die_with_worker(ends[1]);
  int64_t process = 0;
  CHECK(client > 0 && read(ends[0], &process, sizeof process) == sizeof process && process > 0);
  waitpid(client, NULL, 0);
  int waited = 0;
  /* Another process may have to reap it, so that it is a zombie for a while. */
  while (kill((pid_t)process, 0) == 0 && waited < 5000) {
    char path[64], state[256] = {0};
    snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
    FILE *file = fopen(path, "r");
    const bool is_zombie = file == NULL || (fgets(state, sizeof state, file) != NULL && strstr(state, ") Z") != NULL);
    if (file != NULL) fclose(file);
    if (is_zombie) break;
    usleep(1000);
    waited++;
  }
  CHECK(waited < 5000);
  close(ends[0]);
  close(ends[1]);
}

/* Starts a process that is a worker once it was joined, and answers each request. Returns it, or -1. */
static pid_t start_joined(int memory) {
  const pid_t process = fork();
  if (process != 0) return process;
  uint8_t *command;
  uint32_t slot;
  if (dup2(memory, TN_HOST_COMMAND) < 0) _exit(1);
  while (tn_host_attach(&command) != TN_OK) usleep(1000);
  while (tn_host_take(&slot, -1) == TN_OK) tn_host_answer(slot);
  _exit(1);
}

static int command_memory(void) {
  const int memory = memfd_create("command", MFD_CLOEXEC);
  return memory >= 0 && ftruncate(memory, TN_HOST_COMMAND_SIZE) == 0 ? memory : -1;
}

TEST(process_that_was_joined_answers_until_it_ends) {
  /* The number can be that of the process that has started the worker. */
  for (int is_own = 0; is_own <= 1; is_own++) {
    const int memory = command_memory();
    const pid_t process = start_joined(memory);
    tn_host_t *host;
    CHECK(memory >= 0 && process > 0);
    CHECK(tn_host_join(memory, is_own ? process : getpid(), &host) == TN_OK);
    cpu_set_t before, after;
    CHECK(sched_getaffinity(process, sizeof before, &before) == 0);
    for (uint32_t i = 0; i < 1000; i++) {
      ask(host, i % TN_HOST_SLOTS);
      CHECK(tn_host_exchange(host, i % TN_HOST_SLOTS, 10 * (int64_t)SECOND) == TN_OK);
      CHECK(slot_of(host, i % TN_HOST_SLOTS)->state == TN_HOST_DONE);
    }
    CHECK(sched_getaffinity(process, sizeof after, &after) == 0 && CPU_EQUAL(&before, &after));
    kill(process, SIGKILL);
    ask(host, 1000 % TN_HOST_SLOTS);
    CHECK(tn_host_exchange(host, 1000 % TN_HOST_SLOTS, 10 * (int64_t)SECOND) == TN_CLOSED);
    tn_host_close(host);
    CHECK(waitpid(process, NULL, 0) == process);
    close(memory);
  }
}

TEST(closing_a_worker_that_was_joined_does_not_end_it) {
  const size_t live = tn_host_live(), unreaped = tn_host_unreaped();
  const int memory = command_memory();
  const pid_t process = start_joined(memory);
  tn_host_t *host;
  CHECK(memory >= 0 && process > 0 && tn_host_join(memory, process, &host) == TN_OK);
  CHECK(tn_host_live() == live + 1 && tn_host_unreaped() == unreaped);
  CHECK(tn_host_kill(host) == TN_OK);
  tn_host_close(host);
  CHECK(tn_host_live() == live && tn_host_unreaped() == unreaped);
  CHECK(waitpid(process, NULL, WNOHANG) == 0);
  kill(process, SIGKILL);
  CHECK(waitpid(process, NULL, 0) == process);
  close(memory);
}

TEST(nothing_is_cancelled_outside_workers) {
  CHECK(tn_host_is_cancelled() == 0);
  uint8_t *command;
  uint32_t slot;
  CHECK(tn_host_attach(&command) != TN_OK && tn_host_take(&slot, 0) == TN_INVALID_ARGUMENT);
}
#endif
