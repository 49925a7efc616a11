/* A mutex and a condition that need no initialising: for the few process-wide tables. */
#ifndef TENON_LOCK_H
#define TENON_LOCK_H

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
static inline void tn__wake_one(tn__condition_t *condition) { WakeConditionVariable(condition); }
static inline void tn__wake_all(tn__condition_t *condition) { WakeAllConditionVariable(condition); }

#else
#include <pthread.h>

typedef pthread_mutex_t tn__lock_t;
typedef pthread_cond_t tn__condition_t;
#define TN__LOCK PTHREAD_MUTEX_INITIALIZER
#define TN__CONDITION PTHREAD_COND_INITIALIZER

static inline void tn__lock(tn__lock_t *lock) { pthread_mutex_lock(lock); }
static inline void tn__unlock(tn__lock_t *lock) { pthread_mutex_unlock(lock); }
static inline void tn__wait(tn__condition_t *condition, tn__lock_t *lock) { pthread_cond_wait(condition, lock); }
static inline void tn__wake_one(tn__condition_t *condition) { pthread_cond_signal(condition); }
static inline void tn__wake_all(tn__condition_t *condition) { pthread_cond_broadcast(condition); }

#endif
#endif
