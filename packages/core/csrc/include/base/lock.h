/* A mutex and a condition variable with static initialisers, for process-wide tables. */
#pragma once

#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

typedef SRWLOCK tn__lock_t;
typedef CONDITION_VARIABLE tn__condition_t;
#define TN__LOCK SRWLOCK_INIT
#define TN__CONDITION CONDITION_VARIABLE_INIT

static inline void tn__lock(tn__lock_t *lock) { AcquireSRWLockExclusive(lock); }
static inline void tn__unlock(tn__lock_t *lock) { ReleaseSRWLockExclusive(lock); }
static inline void tn__wait(tn__condition_t *condition, tn__lock_t *lock) {
  SleepConditionVariableSRW(condition, lock, INFINITE, 0);
}
static inline void tn__wait_for(tn__condition_t *condition, tn__lock_t *lock, unsigned ms) {
  SleepConditionVariableSRW(condition, lock, ms, 0);
}
static inline unsigned long long tn__now_ms(void) { return GetTickCount64(); }
/* The clock of JavaScript is another one here. */
static inline unsigned long long tn__now_ns(void) { return 0; }
static inline void tn__wake_one(tn__condition_t *condition) { WakeConditionVariable(condition); }
static inline void tn__wake_all(tn__condition_t *condition) { WakeAllConditionVariable(condition); }

#else
#include <pthread.h>
#include <time.h>

typedef pthread_mutex_t tn__lock_t;
/* Made by the first wait, because a static initialiser cannot select the clock. Waits and wakes are under one lock. */
typedef struct {
  pthread_cond_t condition;
  int is_made;
} tn__condition_t;
#define TN__LOCK PTHREAD_MUTEX_INITIALIZER
#define TN__CONDITION {PTHREAD_COND_INITIALIZER, 0}

static inline void tn__lock(tn__lock_t *lock) { pthread_mutex_lock(lock); }
static inline void tn__unlock(tn__lock_t *lock) { pthread_mutex_unlock(lock); }
static inline struct timespec tn__clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now;
}
/* Waits for at most `ms` milliseconds of the monotonic clock, because the time of day can be set. Callers check the clock
 * themselves. */
static inline void tn__wait_for(tn__condition_t *condition, tn__lock_t *lock, unsigned ms) {
#if defined(__APPLE__)
  const struct timespec time = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
  pthread_cond_timedwait_relative_np(&condition->condition, lock, &time);
#else
  if (!condition->is_made) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&condition->condition, &attributes);
    pthread_condattr_destroy(&attributes);
    condition->is_made = 1;
  }
  struct timespec end = tn__clock();
  end.tv_nsec += (long)(ms % 1000) * 1000000;
  end.tv_sec += (time_t)(ms / 1000) + end.tv_nsec / 1000000000;
  end.tv_nsec %= 1000000000;
  pthread_cond_timedwait(&condition->condition, lock, &end);
#endif
}
/* Waits at most a second, because glibc before 2.41 can lose a wake-up (its bug 25847). Callers test in a loop. */
static inline void tn__wait(tn__condition_t *condition, tn__lock_t *lock) { tn__wait_for(condition, lock, 1000); }
static inline unsigned long long tn__now_ms(void) {
  const struct timespec now = tn__clock();
  return (unsigned long long)now.tv_sec * 1000 + (unsigned long long)now.tv_nsec / 1000000;
}
/* The time of process.hrtime() in JavaScript, or 0 where that is unknown. */
static inline unsigned long long tn__now_ns(void) {
  const struct timespec now = tn__clock();
  return (unsigned long long)now.tv_sec * 1000000000 + (unsigned long long)now.tv_nsec;
}
static inline void tn__wake_one(tn__condition_t *condition) { pthread_cond_signal(&condition->condition); }
static inline void tn__wake_all(tn__condition_t *condition) { pthread_cond_broadcast(&condition->condition); }

#endif
