/* Threads and time for tests of every system. */
#ifndef TENON_TEST_THREAD_H
#define TENON_TEST_THREAD_H

#include <stdbool.h>

#include "base/lock.h"

/* Stays where it is until it is joined. */
typedef struct {
  void *(*body)(void *data);
  void *data; /* and at the end the result of the body */
#if defined(_WIN32)
  HANDLE handle;
#else
  pthread_t handle;
#endif
} test_thread_t;

#if defined(_WIN32)
static DWORD WINAPI test_thread_enter(LPVOID thread) {
  test_thread_t *mine = thread;
  mine->data = mine->body(mine->data);
  return 0;
}
#else
static inline void *test_thread_enter(void *thread) {
  test_thread_t *mine = thread;
  return mine->data = mine->body(mine->data);
}
#endif

/* Starts a thread, which must be joined. Returns false if the system refuses it. */
static inline bool thread_start(test_thread_t *thread, void *(*body)(void *data), void *data) {
  thread->body = body;
  thread->data = data;
#if defined(_WIN32)
  return (thread->handle = CreateThread(NULL, 0, test_thread_enter, thread, 0, NULL)) != NULL;
#else
  return pthread_create(&thread->handle, NULL, test_thread_enter, thread) == 0;
#endif
}

/* Waits for the end of a thread and returns the result of its body. */
static inline void *thread_join(test_thread_t *thread) {
#if defined(_WIN32)
  WaitForSingleObject(thread->handle, INFINITE);
  CloseHandle(thread->handle);
#else
  pthread_join(thread->handle, NULL);
#endif
  return thread->data;
}

/* Identifies the calling thread among those that run. */
static inline const void *thread_self(void) {
  static _Thread_local char self;
  return &self;
}

/* The steps of tn__now_ms(). */
#if defined(_WIN32)
enum { CLOCK_STEP_MS = 16 };
#else
enum { CLOCK_STEP_MS = 0 };
#endif

static inline void sleep_ms(unsigned ms) {
#if defined(_WIN32)
  Sleep(ms);
#else
  nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000}, NULL);
#endif
}

#endif
