/* Calls of a thread of JavaScript by other threads, which wait for it. */
#include "relay.h"

/* The longest stay of a thread in one native call while others wait, because that call may be waiting for them. */
#define STALL_MS 100
#define CHECK_MS 20

typedef enum { QUEUED, RUNNING, AWAITED, DONE, CLOSED } state_t;

/* A caller, on its own stack. Guarded by the lock of the environments once its message is posted. */
typedef struct waiter {
  tn_message_t message; /* first */
  const tn_relay_t *relay;
  bool (*is_wanted)(const void *data); /* or null */
  tn__condition_t changed;
  state_t state;
  uint64_t answer;
  uint64_t job; /* for which the caller works, or 0 */
  struct waiter *next; /* of those that are RUNNING or AWAITED */
} waiter_t;

static waiter_t *taken;

/* The job for which this thread works. */
static _Thread_local uint64_t current_job;

void tn_environment_for_job(uint64_t id) { current_job = id; }

/* Removes the waiter from those that are taken. Under the lock. */
static bool remove_taken(const waiter_t *waiter) {
  for (waiter_t **at = &taken; *at != NULL; at = &(*at)->next) {
    if (*at != waiter) continue;
    *at = waiter->next;
    return true;
  }
  return false;
}

/* Ends a wait. The waiter must not be accessed after the lock is released. */
static void settle(waiter_t *waiter, state_t state) {
  remove_taken(waiter);
  waiter->state = state;
  tn__wake_one(&waiter->changed);
}

static void run(tn_message_t *message, int32_t is_closing) {
  waiter_t *waiter = (waiter_t *)message;
  tn__lock(tn__environments_lock());
  if (is_closing) {
    settle(waiter, CLOSED);
  } else {
    waiter->state = RUNNING;
    waiter->next = taken;
    taken = waiter;
  }
  tn__unlock(tn__environments_lock());
  if (is_closing) return;
  tn_environment_t *environment = tn_environment_current();
  environment->job = waiter->job;
  const uint64_t answer = waiter->relay->run(waiter->relay->data);
  environment->job = 0;
  tn__lock(tn__environments_lock());
  if (answer == 0) {
    settle(waiter, DONE);
  } else {
    waiter->answer = answer;
    waiter->state = AWAITED;
  }
  tn__unlock(tn__environments_lock());
}

void tn__relay_close_all(uint64_t environment, bool with_running) {
  tn__lock(tn__environments_lock());
  for (waiter_t *waiter = taken, *next; waiter != NULL; waiter = next) {
    next = waiter->next;
    if (waiter->relay->environment == environment && (with_running || waiter->state == AWAITED)) settle(waiter, CLOSED);
  }
  tn__unlock(tn__environments_lock());
}

static bool is_unwanted(const waiter_t *waiter) {
  return waiter->state == QUEUED && waiter->is_wanted != NULL && !waiter->is_wanted(waiter->relay->data);
}

void tn__relay_recheck(tn_environment_t *environment) {
  tn__lock(tn__environments_lock());
  for (tn_message_t *message = environment->first, *next; message != NULL; message = next) {
    next = message->next;
    waiter_t *waiter = (waiter_t *)message;
    if (message->run != run || !is_unwanted(waiter)) continue;
    tn__environment_remove(environment->id, message);
    settle(waiter, CLOSED);
  }
  tn__unlock(tn__environments_lock());
}

/* The last progress of a thread, as seen by a caller that waits for the thread. */
typedef struct {
  uint32_t calls;
  unsigned long long since;
} progress_t;

static bool is_stalled(const tn_environment_t *environment, progress_t *seen) {
  const uint32_t calls = __atomic_load_n(&environment->calls, __ATOMIC_RELAXED);
  const unsigned long long now = tn__now_ms();
  if (calls != seen->calls || __atomic_load_n(&environment->depth, __ATOMIC_RELAXED) == 0 ||
      __atomic_load_n(&environment->will_serve, __ATOMIC_RELAXED))
    *seen = (progress_t){calls, now};
  return now - seen->since >= STALL_MS;
}

/* Returns whether the waiter may leave: a function that runs is waited for to its end. Under the lock. */
static bool stop_waiting(waiter_t *waiter) {
  if (waiter->state == QUEUED) return tn__environment_remove(waiter->relay->environment, &waiter->message);
  return waiter->state == AWAITED && remove_taken(waiter);
}

static int32_t refuse(int32_t status, const tn_relay_t *relay) {
  if (status == TN_CLOSED) return tn__fail(status, "the TypeScript function is closed");
  if (status == TN_TIMED_OUT)
    return tn__fail(status, "the thread of a TypeScript function did not answer within %u ms", relay->timeout_ms);
  return tn__fail(status, "the thread of a TypeScript function is in a native call that may wait for this call");
}

/* Waits under the lock until the call is done, or the caller gives up. */
static int32_t wait_for(waiter_t *waiter) {
  const tn_relay_t *relay = waiter->relay;
  const unsigned long long start = tn__now_ms();
  progress_t seen = {0, start};
  for (;;) {
    if (waiter->state == DONE) return TN_OK;
    const tn_environment_t *environment = tn__environment_find(relay->environment);
    if (waiter->state == CLOSED) return tn__fail(TN_CLOSED, "the thread of a TypeScript function has ended");
    int32_t failure = TN_OK;
    if (is_unwanted(waiter))
      failure = TN_CLOSED;
    else if (relay->timeout_ms != UINT32_MAX && tn__now_ms() - start >= relay->timeout_ms)
      failure = TN_TIMED_OUT;
    else if (relay->threads == TN_THREADS_RELAY && environment != NULL && is_stalled(environment, &seen))
      failure = TN_DEADLOCK;
    if (failure != TN_OK && stop_waiting(waiter)) return refuse(failure, relay);
    const bool checks = relay->threads == TN_THREADS_RELAY || relay->timeout_ms != UINT32_MAX;
    if (checks) tn__wait_for(&waiter->changed, tn__environments_lock(), CHECK_MS);
    else tn__wait(&waiter->changed, tn__environments_lock());
  }
}

int32_t tn__relay(const tn_relay_t *relay, bool (*is_wanted)(const void *data)) {
  TN_REQUIRE(relay != NULL && relay->run != NULL, "relay and its function must not be null");
  if (relay->threads == TN_THREADS_REFUSE)
    return tn__fail(TN_WRONG_THREAD, "a TypeScript function was called from a thread that does not run its JavaScript");
  waiter_t waiter = {.message = {.run = run}, .relay = relay, .job = current_job, .is_wanted = is_wanted, .changed = TN__CONDITION};
  TN_TRY(tn_environment_post(relay->environment, &waiter.message));
  tn__lock(tn__environments_lock());
  const int32_t status = wait_for(&waiter);
  tn__unlock(tn__environments_lock());
  return status;
}

int32_t tn_environment_relay(const tn_relay_t *relay) { return tn__relay(relay, NULL); }

uint64_t tn_environment_next_answer(void) {
  static uint64_t last;
  tn__lock(tn__environments_lock());
  const uint64_t next = ++last;
  tn__unlock(tn__environments_lock());
  return next;
}

int32_t tn_environment_answer(uint64_t answer, void (*accept)(void *caller, void *data), void *data) {
  tn__lock(tn__environments_lock());
  waiter_t *waiter = taken;
  while (waiter != NULL && (waiter->state != AWAITED || waiter->answer != answer)) waiter = waiter->next;
  if (waiter != NULL) {
    accept(waiter->relay->data, data);
    settle(waiter, DONE);
  }
  tn__unlock(tn__environments_lock());
  return waiter != NULL;
}
