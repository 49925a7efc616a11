#include <pthread.h>
#include <signal.h>
#include <unistd.h>
#if defined(__linux__)
#include <sched.h>
#elif defined(__APPLE__)
#include <sys/sysctl.h>
#endif

#include "base/status.h"
#include "base/thread.h"

/* The default differs between systems (musl: 128 KiB), and kernels expect that of a main thread. */
#define STACK_SIZE ((size_t)8 << 20)

static void *enter(void *thread) {
  const tn__thread_t *mine = thread;
  mine->run(mine->data);
  return NULL;
}

/* Blocks all signals but those that a fault raises on its own thread, so that handlers run on threads of Node.js. */
static void block_signals(sigset_t *previous) {
  static const int faults[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP};
  sigset_t blocked;
  sigfillset(&blocked);
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigdelset(&blocked, faults[i]);
  pthread_sigmask(SIG_BLOCK, &blocked, previous);
}

int tn__thread_start(const tn__thread_t *thread) {
  pthread_t handle;
  pthread_attr_t attributes;
  sigset_t previous;
  if (pthread_attr_init(&attributes) != 0) return 0;
  /* The new thread inherits the mask. */
  block_signals(&previous);
  const int has_started = pthread_attr_setstacksize(&attributes, STACK_SIZE) == 0 &&
                          pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED) == 0 &&
                          pthread_create(&handle, &attributes, enter, (void *)(uintptr_t)thread) == 0;
  pthread_sigmask(SIG_SETMASK, &previous, NULL);
  pthread_attr_destroy(&attributes);
  return has_started;
}

size_t tn__processor_count(void) {
#if defined(__linux__)
  cpu_set_t usable;
  /* Fails if the system has more processors than fit into the set. */
  if (sched_getaffinity(0, sizeof usable, &usable) == 0) return (size_t)CPU_COUNT(&usable);
#elif defined(__APPLE__)
  int active = 0;
  size_t size = sizeof active;
  if (sysctlbyname("hw.activecpu", &active, &size, NULL, 0) == 0 && active > 0) return (size_t)active;
#endif
  const long count = sysconf(_SC_NPROCESSORS_ONLN);
  return count < 1 ? 1 : (size_t)count;
}
