/* Clients on systems without FUTEX_WAITV, which Linux has since 5.16, or where a filter refuses it. */
#include "check.h"

/* ThreadSanitizer cannot follow a child process that starts threads, as the one of this test does. */
#if defined(__GLIBC__) && !defined(__SANITIZE_THREAD__) /* workers need glibc */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "worker.h"

#define FUTEX_WAITV 449

/* Has the system call fail from now on, in this process and its children. */
static bool refuse_waitv(int error) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FUTEX_WAITV, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog filter = {.len = sizeof code / sizeof *code, .filter = code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) != 0) return false;
  return syscall(FUTEX_WAITV, NULL, 0, 0, NULL, 0) < 0 && errno == error;
}

static void *end_worker(void *process) {
  usleep(30000);
  kill((pid_t)(intptr_t)process, SIGKILL);
  return NULL;
}

static uint64_t processor_time(void) {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec;
}

/* Returns 0, or the number of the expectation that does not hold. */
static int use_workers(int error) {
  if (!refuse_waitv(error)) return 1;
  tn_host_t *hosts[2] = {start(), start()};
  if (hosts[0] == NULL || hosts[1] == NULL) return 2;
  for (uint32_t i = 1; i < 200; i++) {
    ask(hosts[0], i % TN_HOST_SLOTS);
    if (tn_host_exchange(hosts[0], i % TN_HOST_SLOTS, 10 * (int64_t)SECOND) != TN_OK) return 3;
  }
  uint32_t seen[] = {header_of(hosts[0])->responses, header_of(hosts[1])->responses};
  ask(hosts[1], 1);
  if (tn_host_post(hosts[1], 0) != TN_OK || tn_host_wait_any(hosts, seen, 2, 10 * (int64_t)SECOND) != TN_OK) return 4;
  if (header_of(hosts[1])->responses != seen[1] + 1) return 5;

  /* A worker that does not answer: the client sleeps, and has asked for the doorbell. */
  const pid_t process = (pid_t)info_of(hosts[0]).process;
  kill(process, SIGSTOP);
  ask(hosts[0], 1);
  const uint64_t before = processor_time();
  if (tn_host_exchange(hosts[0], 1, SECOND / 2) != TN_TIMED_OUT) return 6;
  if (processor_time() - before > SECOND / 4) return 7;
  if (header_of(hosts[0])->ring != 1) return 8;

  /* The end of a worker wakes the client, too. */
  pthread_t thread;
  if (pthread_create(&thread, NULL, end_worker, (void *)(intptr_t)process) != 0) return 9;
  if (tn_host_wait(hosts[0], 1, 10 * (int64_t)SECOND) != TN_CLOSED) return 10;
  pthread_join(thread, NULL);
  tn_host_close(hosts[0]);
  tn_host_close(hosts[1]);
  return 0;
}

/* Whether a child process that has used the system call before works without it. */
static int outcome_of(int error) {
  const pid_t child = fork();
  if (child == 0) _exit(use_workers(error));
  int status = -1;
  if (child < 0 || waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

TEST(clients_wait_without_futex_waitv) {
  tn_host_t *host = start();
  CHECK(host != NULL);
  ask(host, 1);
  CHECK(tn_host_exchange(host, 1, 10 * (int64_t)SECOND) == TN_OK);
  tn_host_close(host);
  const int missing = outcome_of(ENOSYS), refused = outcome_of(EPERM);
  CHECK(missing == 0);
  CHECK(refused == 0);
}
#endif
