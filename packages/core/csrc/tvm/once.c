#include "once.h"

#include <stdbool.h>

#include "base/lock.h"

typedef struct tn__once_thread {
  void **awaited; /* the handle whose initialisation the thread waits for, or null */
} thread_t;

static tn__lock_t lock = TN__LOCK;
static tn__condition_t ended = TN__CONDITION;
static tn__once_t *running;

static _Thread_local thread_t own;

/* Returns the initialisation of a handle that is in progress, or null. Under the lock. */
static tn__once_t *find(void **handle) {
  tn__once_t *once = running;
  while (once != NULL && once->handle != handle) once = once->next;
  return once;
}

/* Whether the end of an initialisation depends on the calling thread. Under the lock. */
static bool waits_for_caller(const tn__once_t *once) {
  while (once != NULL && once->thread != &own) once = once->thread->awaited == NULL ? NULL : find(once->thread->awaited);
  return once != NULL;
}

tn__once_state_t tn__once_begin(tn__once_t *once, void **handle) {
  tn__once_state_t state = TN__ONCE_BEGUN;
  const tn__once_t *other;
  tn__lock(&lock);
  while (__atomic_load_n(handle, __ATOMIC_ACQUIRE) == NULL && (other = find(handle)) != NULL) {
    if (waits_for_caller(other)) {
      state = TN__ONCE_CIRCULAR;
      break;
    }
    own.awaited = handle;
    tn__wait(&ended, &lock);
    own.awaited = NULL;
  }
  if (__atomic_load_n(handle, __ATOMIC_ACQUIRE) != NULL) {
    state = TN__ONCE_DONE;
  } else if (state == TN__ONCE_BEGUN) {
    *once = (tn__once_t){handle, &own, running};
    running = once;
  }
  tn__unlock(&lock);
  return state;
}

void tn__once_end(tn__once_t *once, void *value) {
  tn__lock(&lock);
  tn__once_t **at = &running;
  while (*at != once) at = &(*at)->next;
  *at = once->next;
  if (value != NULL) __atomic_store_n(once->handle, value, __ATOMIC_RELEASE);
  tn__wake_all(&ended);
  tn__unlock(&lock);
}
