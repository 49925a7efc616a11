/* The ends of workers. */
#include "tenon_host.h"

#if defined(__linux__)
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/status.h"
#include "tenon_call.h"
#include "client.h"

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

static _Atomic size_t live, unreaped;

/* The workers that the thread has started and not closed. Only the thread itself changes the list. */
static _Thread_local tn_host_t *of_thread;
static _Thread_local bool is_hooked;

static void end_all(void *data) {
  (void)data;
  while (of_thread != NULL) tn_host_close(of_thread);
  is_hooked = false;
}

void tn__host_count(const tn_host_t *host) {
  live++;
  if (!host->is_joined) unreaped++;
}

void tn__host_end_with_thread(tn_host_t *host) {
  if (!is_hooked) {
    if (tn_environment_current() == NULL || tn_environment_on_end(end_all, NULL) != TN_OK) return;
    is_hooked = true;
  }
  host->is_of_thread = true;
  host->next = of_thread;
  host->reference = &of_thread;
  if (of_thread != NULL) of_thread->reference = &host->next;
  of_thread = host;
}

static void leave_thread(tn_host_t *host) {
  if (!host->is_of_thread) return;
  *host->reference = host->next;
  if (host->next != NULL) host->next->reference = host->reference;
  host->is_of_thread = false;
}

size_t tn_host_live(void) { return live; }

size_t tn_host_unreaped(void) { return unreaped; }

uint64_t tn_host_now(void) { return tn__host_now(); }

int32_t tn_host_kill(tn_host_t *host) {
  TN_REQUIRE(host != NULL, "the worker must not be null");
  /* The process cannot be another one, because it has not been reaped. */
  if (!host->is_reaped && !host->is_joined) kill(host->process, SIGKILL);
  return TN_OK;
}

/* Waits for the process itself, so that no other child is taken. */
static bool reap(tn_host_t *host, int options) {
  siginfo_t end = {0};
  int result;
  do {
    result = waitid(P_PID, (id_t)host->process, &end, WEXITED | options);
  } while (result != 0 && errno == EINTR);
  if (result == 0 && end.si_pid == 0) return false;
  /* Somebody else has reaped it, which only happens if SIGCHLD is ignored: then the cause is unknown. */
  const bool is_known = result == 0;
  host->end_kind = is_known && end.si_code != CLD_EXITED ? 2 : 1;
  host->end_value = is_known ? end.si_status : 0;
  host->is_reaped = true;
  unreaped--;
  return true;
}

int32_t tn_host_reap(tn_host_t *host, int64_t timeout, int32_t *kind, int32_t *value) {
  TN_REQUIRE(host != NULL && kind != NULL && value != NULL, "the worker, kind and value must not be null");
  const uint64_t end = tn__host_end_of(timeout);
  while (!host->is_reaped && !reap(host, WNOHANG)) {
    const uint64_t now = tn__host_now();
    if (now >= end) return tn__fail(TN_TIMED_OUT, "the worker has not ended");
    const uint64_t left = end - now;
    const struct timespec time = {.tv_sec = (time_t)(left / 1000000000u), .tv_nsec = (long)(left % 1000000000u)};
    struct pollfd entry = {.fd = host->lifeline, .events = POLLIN};
    ppoll(&entry, 1, end == UINT64_MAX ? NULL : &time, NULL);
  }
  *kind = host->end_kind;
  *value = host->end_value;
  return TN_OK;
}

void tn_host_close(tn_host_t *host) {
  if (host == NULL) return;
  leave_thread(host);
  tn_host_kill(host);
  if (!host->is_reaped && !host->is_joined) reap(host, 0);
  const int descriptors[] = {host->lifeline, host->doorbell, host->control, host->output[0], host->output[1]};
  for (size_t i = 0; i < sizeof descriptors / sizeof *descriptors; i++)
    if (descriptors[i] >= 0) close(descriptors[i]);
  munmap(host->command, TN_HOST_COMMAND_SIZE);
  free(host);
  live--;
}

#else
#include <stddef.h>

size_t tn_host_live(void) { return 0; }
size_t tn_host_unreaped(void) { return 0; }
#endif
