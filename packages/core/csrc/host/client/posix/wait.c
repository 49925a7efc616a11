/* Requests to workers, and waiting for their answers.
 *
 * A thread sleeps on two futexes: the count of responses, and the life word of the worker, whose robust mutex makes the
 * kernel wake the thread whatever ends the worker. Before the worker has announced this word, after a kernel has written
 * over it, and on systems without FUTEX_WAITV, the thread polls the doorbell and the lifeline instead. A kernel can damage
 * the word, the list of robust mutexes and the doorbell, so each sleep has a longest time, after which the thread looks at the
 * answer and at the lifeline, which the kernel cannot reach. */
#include "tenon_host.h"

#if defined(__linux__)
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>

#include "client.h"
#include "tenon_pools.h"

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

/* struct futex_waitv of Linux 5.16, which older headers lack. */
typedef struct {
  uint64_t value;
  uint64_t address;
  uint32_t flags;
  uint32_t reserved;
} waiter_t;

#define WAITER_OF_32_BITS 2u

/* The most times that the doorbell is read at once. */
#define MOST_READS 16

/* The longest sleeps in ns: of a thread that whatever it waits for wakes, and of one that nothing wakes after an answer,
 * because its worker has closed the doorbell. */
#define LONGEST_SLEEP 1000000000u
#define LONGEST_SILENCE 10000000u

/* -1: not known. */
static _Atomic int has_waitv = -1;

bool tn__host_can_wait(void) {
  /* With no waiters the call is refused as invalid where it exists. */
  if (has_waitv < 0)
    has_waitv = syscall(SYS_futex_waitv, NULL, 0, 0, NULL, 0) < 0 && errno != ENOSYS && errno != EPERM;
  return has_waitv == 1;
}

/* The life word and its value, or null if it is not known or cannot be believed. The number of a process that was joined
 * may be that of another one, which has started the worker. */
static _Atomic uint32_t *life_of(tn_host_t *host, uint32_t *expected) {
  const uint32_t offset = *TN__WORD(&tn__host_header(host)->life_offset);
  const size_t start = offsetof(tn_host_header_t, life);
  if (offset < start || offset > start + 60 || offset % 4 != 0) return NULL;
  _Atomic uint32_t *word = TN__WORD(host->command + offset);
  *expected = *word;
  if ((*expected & (FUTEX_WAITERS | FUTEX_OWNER_DIED)) != FUTEX_WAITERS) return NULL;
  return host->is_joined || (*expected & FUTEX_TID_MASK) == (uint32_t)host->process ? word : NULL;
}

/* Whether the main thread of the worker, which owns the life mutex, has ended. Believes a life word that says no only if
 * `trusts`, because a kernel can keep the word as it is. */
static bool has_died(tn_host_t *host, bool trusts) {
  uint32_t expected;
  if (trusts && life_of(host, &expected) != NULL) return false;
  const uint32_t offset = *TN__WORD(&tn__host_header(host)->life_offset);
  const size_t start = offsetof(tn_host_header_t, life);
  if (offset >= start && offset <= start + 60 && offset % 4 == 0 &&
      (*TN__WORD(host->command + offset) & FUTEX_OWNER_DIED) != 0)
    return true;
  struct pollfd entry = {.fd = host->lifeline, .events = POLLIN};
  return host->is_reaped || poll(&entry, 1, 0) > 0;
}

/* The time until which a thread sleeps at most, if it waits until `end`. */
static uint64_t longest_sleep(uint64_t end, uint64_t longest) {
  const uint64_t most = tn__host_now() + longest;
  return most < end ? most : end;
}

static struct timespec time_of(uint64_t nanoseconds) {
  return (struct timespec){.tv_sec = (time_t)(nanoseconds / 1000000000u), .tv_nsec = (long)(nanoseconds % 1000000000u)};
}

static uint32_t responses_of(tn_host_t *host) { return *TN__WORD(&tn__host_header(host)->responses); }

/* Sleeps until a worker has responded or ended, or until `end`. May return early. */
static void sleep_by_futex(const waiter_t *waiters, uint32_t count, uint64_t end) {
  const struct timespec until = time_of(longest_sleep(end, LONGEST_SLEEP));
  /* A filter of system calls that this process has set since then may refuse it. The next wait polls. */
  if (syscall(SYS_futex_waitv, waiters, count, 0, &until, CLOCK_MONOTONIC) < 0 &&
      (errno == ENOSYS || errno == EPERM))
    has_waitv = 0;
}

/* Likewise, by the doorbells that the workers ring. `seen` are the response counts before which no thread sleeps. */
static void sleep_by_poll(tn_host_t *const *hosts, const uint32_t *seen, size_t count, uint64_t end) {
  struct pollfd entries[2 * TN_HOST_WAITED];
  uint64_t longest = LONGEST_SLEEP;
  for (size_t i = 0; i < count; i++) {
    if (hosts[i]->is_silent) longest = LONGEST_SILENCE;
    else atomic_store(TN__WORD(&tn__host_header(hosts[i])->ring), 1);
    /* poll() ignores negative descriptors. */
    entries[2 * i] = (struct pollfd){.fd = hosts[i]->is_silent ? -1 : hosts[i]->doorbell, .events = POLLIN};
    entries[2 * i + 1] = (struct pollfd){.fd = hosts[i]->lifeline, .events = POLLIN};
  }
  /* A response before the store has not rung. */
  for (size_t i = 0; i < count; i++)
    if (responses_of(hosts[i]) != seen[i]) return;
  const uint64_t now = tn__host_now(), until = longest_sleep(end, longest);
  if (now >= until) return;
  const struct timespec time = time_of(until - now);
  if (ppoll(entries, 2 * count, &time, NULL) <= 0) return;
  for (size_t i = 0; i < count; i++)
    if (entries[2 * i].revents != 0) tn_host_drain(hosts[i]);
}

/* Sleeps until one of the workers has responded since `seen`, or has ended, or until `end`. May return early. */
static void sleep_for(tn_host_t *const *hosts, const uint32_t *seen, size_t count, uint64_t end) {
  waiter_t waiters[2 * TN_HOST_WAITED];
  bool can_sleep = tn__host_can_wait();
  for (size_t i = 0; i < count && can_sleep; i++) {
    uint32_t expected;
    _Atomic uint32_t *life = life_of(hosts[i], &expected);
    can_sleep = life != NULL;
    if (!can_sleep) break;
    void *responses = &tn__host_header(hosts[i])->responses;
    waiters[2 * i] = (waiter_t){seen[i], (uint64_t)(uintptr_t)responses, WAITER_OF_32_BITS, 0};
    waiters[2 * i + 1] = (waiter_t){expected, (uint64_t)(uintptr_t)life, WAITER_OF_32_BITS, 0};
  }
  if (!can_sleep) {
    sleep_by_poll(hosts, seen, count, end);
    return;
  }
  for (size_t i = 0; i < count; i++) atomic_fetch_add(TN__WORD(&tn__host_header(hosts[i])->client_sleeps), 1);
  bool must_sleep = true;
  for (size_t i = 0; i < count && must_sleep; i++) must_sleep = responses_of(hosts[i]) == seen[i];
  if (must_sleep) sleep_by_futex(waiters, (uint32_t)(2 * count), end);
  for (size_t i = 0; i < count; i++) atomic_fetch_sub(TN__WORD(&tn__host_header(hosts[i])->client_sleeps), 1);
}

static bool is_pending(uint32_t state) { return state == TN_HOST_POSTED || state == TN_HOST_RETURNED; }

int32_t tn_host_post(tn_host_t *host, uint32_t rings) {
  TN_REQUIRE(host != NULL, "the worker must not be null");
  tn_host_header_t *header = tn__host_header(host);
  if (rings != 0) atomic_store(TN__WORD(&header->ring), 1);
  atomic_fetch_add(TN__WORD(&header->requests), 1);
  if (*TN__WORD(&header->host_sleeps) != 0) tn__futex_wake(TN__WORD(&header->requests), INT32_MAX);
  return TN_OK;
}

int32_t tn_host_wait(tn_host_t *host, uint32_t slot, int64_t timeout) {
  TN_REQUIRE(host != NULL && slot < TN_HOST_SLOTS, "the worker must not be null, and the slot below %u, got %u",
             TN_HOST_SLOTS, slot);
  _Atomic uint32_t *state = TN__WORD(&tn__host_slot(host->command, slot)->state);
  const uint64_t end = tn__host_end_of(timeout);
  for (bool trusts = true;; trusts = false) {
    const uint32_t seen = responses_of(host);
    if (!is_pending(*state)) return TN_OK;
    if (has_died(host, trusts)) return is_pending(*state) ? tn__fail(TN_CLOSED, "the worker has ended") : TN_OK;
    if (end != UINT64_MAX && tn__host_now() >= end) return tn__fail(TN_TIMED_OUT, "the worker has not answered");
    sleep_for(&host, &seen, 1, end);
  }
}

/* The number of exchanges for which a worker and its caller stay on one processor once one of them has left it. */
#define NEAR_CALLS 256

static void set_processors(pid_t thread, const cpu_set_t *processors) {
  sched_setaffinity(thread, sizeof *processors, processors);
}

/* Whether the number of the process is that of the worker, and not yet that of another process. */
static bool has_number(tn_host_t *host) {
  uint32_t life;
  if (!host->is_joined) return !host->is_reaped;
  return life_of(host, &life) != NULL && (life & FUTEX_TID_MASK) == (uint32_t)host->process;
}

/* Has the next exchanges of this thread keep the worker on the processor of the caller. The scheduler moves whoever is woken
 * to a processor that sleeps, and to wake that one takes ten times as long as the rest of a short call, although the
 * processor of the caller is free as soon as the caller waits. */
static void begin_near(tn_host_t *host) {
  if (sched_getaffinity(0, sizeof host->of_caller, &host->of_caller) != 0 ||
      sched_getaffinity(host->process, sizeof host->of_worker, &host->of_worker) != 0)
    return;
  host->near_thread = pthread_self();
  host->near_calls = NEAR_CALLS;
}

/* Both threads stay on this processor while the worker is woken, and the caller until it is. Threads that the kernel starts
 * may run anywhere. */
static int32_t exchange_near(tn_host_t *host, int here, uint32_t slot, int64_t timeout) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET((size_t)here, &only);
  host->near_calls--;
  set_processors(0, &only);
  set_processors(host->process, &only);
  int32_t status = tn_host_post(host, 0);
  set_processors(host->process, &host->of_worker);
  if (status == TN_OK) status = tn_host_wait(host, slot, timeout);
  set_processors(0, &host->of_caller);
  return status;
}

int32_t tn_host_exchange(tn_host_t *host, uint32_t slot, int64_t timeout) {
  TN_REQUIRE(host != NULL, "the worker must not be null");
  const int here = sched_getcpu();
  if (here >= 0 && host->near_calls > 0 && pthread_equal(host->near_thread, pthread_self()) &&
      CPU_ISSET((size_t)here, &host->of_worker) && has_number(host))
    return exchange_near(host, here, slot, timeout);
  TN_TRY(tn_host_post(host, 0));
  const int32_t status = tn_host_wait(host, slot, timeout);
  const bool has_left =
      sched_getcpu() != here || *TN__WORD(&tn__host_header(host)->processor) != (uint32_t)here + 1;
  if (here >= 0 && has_left && has_number(host)) begin_near(host);
  return status;
}

int32_t tn_host_wait_any(tn_host_t *const *hosts, const uint32_t *seen, size_t count, int64_t timeout) {
  TN_REQUIRE(hosts != NULL && seen != NULL && count > 0 && count <= TN_HOST_WAITED,
             "there must be 1 to %u workers, got %zu", TN_HOST_WAITED, count);
  const uint64_t end = tn__host_end_of(timeout);
  for (bool trusts = true;; trusts = false) {
    for (size_t i = 0; i < count; i++)
      if (responses_of(hosts[i]) != seen[i] || has_died(hosts[i], trusts)) return TN_OK;
    if (end != UINT64_MAX && tn__host_now() >= end) return tn__fail(TN_TIMED_OUT, "no worker has answered");
    sleep_for(hosts, seen, count, end);
  }
}

int32_t tn_host_cancel(tn_host_t *host, uint64_t id) {
  TN_REQUIRE(host != NULL, "the worker must not be null");
  /* The word has the call, so that the next one is not cancelled instead. */
  _Atomic uint32_t *cancel = TN__WORD(&tn__host_header(host)->cancel);
  atomic_store(cancel, (uint32_t)id);
  tn__futex_wake(cancel, INT32_MAX);
  return TN_OK;
}

int32_t tn_host_drain(tn_host_t *host) {
  TN_REQUIRE(host != NULL, "the worker must not be null");
  /* A read that leaves room has emptied the stream. A worker that writes without end must not keep this thread here. */
  char bytes[4096];
  ssize_t received = sizeof bytes;
  for (int i = 0; i < MOST_READS && received == sizeof bytes; i++)
    received = recv(host->doorbell, bytes, sizeof bytes, MSG_DONTWAIT);
  /* At its end it is readable for ever, and does not ring again. */
  if (received == 0 || (received < 0 && errno != EAGAIN && errno != EINTR)) host->is_silent = true;
  return TN_OK;
}

int32_t tn_host_describe(tn_host_t *host, tn_host_info_t *out) {
  TN_REQUIRE(host != NULL && out != NULL, "the worker and out must not be null");
  *out = (tn_host_info_t){.command = host->command,
                          .process = host->process,
                          .lifeline = host->lifeline,
                          .doorbell = host->doorbell,
                          .control = host->control,
                          .output = {host->output[0], host->output[1]}};
  return TN_OK;
}

int32_t tn_host_send_memory(tn_host_t *host, uint32_t id, int32_t descriptor) {
  TN_REQUIRE(host != NULL, "the worker must not be null");
  /* The worker receives each descriptor before it answers, so a full socket is a worker that has gone wrong. */
  return tn_channel_send(host->control, &id, sizeof id, &descriptor, 1, 0);
}
#endif
