/* Futures of XLA FFI, which a handler returns to finish later, on any thread. */
#include <stdlib.h>

#include "error.h"
#include "internal.h"

struct tn_xla_future {
  tn__xla_member_t member;
  int complete;
  int taken;             /* its call waits for it or has abandoned it */
  int abandoned;         /* completing it frees it */
  tn_xla_error_t *error; /* of a complete future that failed */
  tn__xla_then_t *then;  /* called on completion, or null */
  void *data;
};

/* All futures share a lock, because one can be freed while the thread that completed it still holds the lock. */
static tn__lock_t lock = TN__LOCK;
static tn__condition_t completed = TN__CONDITION;
static tn__xla_set_t live;

tn_xla_error_t *tn__xla_future_create(tn_xla_future_create_args_t *args) {
  CHECK_SIZE("Future_Create", TN_XLA_SIZE_FUTURE_CREATE);
  tn_xla_future_t *future = calloc(1, sizeof *future);
  if (future == NULL) return tn__xla_error(TN_XLA_RESOURCE_EXHAUSTED, "out of memory: cannot allocate a future");
  tn__lock(&lock);
  tn__xla_set_add(&live, &future->member);
  tn__unlock(&lock);
  args->future = future;
  return NULL;
}

/* Frees a live future and its error. The lock is held. */
static void destroy(tn_xla_future_t *future) {
  tn__xla_set_remove(&live, future);
  if (future->error != NULL) tn__xla_error_destroy(future->error);
  free(future);
}

static tn_xla_error_t *complete(tn_xla_future_t *future, tn_xla_error_t *error) {
  tn__lock(&lock);
  const int valid = tn__xla_set_has(&live, future) && !future->complete;
  tn__xla_then_t *then = valid ? future->then : NULL;
  void *data = valid ? future->data : NULL;
  if (then != NULL) {
    destroy(future);
  } else if (valid) {
    future->complete = 1;
    future->error = error;
    if (future->abandoned) destroy(future);
    tn__wake_all(&completed);
  }
  tn__unlock(&lock);
  if (then != NULL) then(data, error);
  if (valid) return NULL;
  if (error != NULL) tn__xla_error_destroy(error);
  return tn__xla_error(TN_XLA_INVALID_ARGUMENT, "the future is unknown or already complete");
}

tn_xla_error_t *tn__xla_future_set_available(tn_xla_future_available_args_t *args) {
  CHECK_SIZE("Future_SetAvailable", sizeof *args);
  return complete(args->future, NULL);
}

tn_xla_error_t *tn__xla_future_set_error(tn_xla_future_error_args_t *args) {
  CHECK_SIZE("Future_SetError", sizeof *args);
  if (args->error == NULL || !tn__xla_error_is_live(args->error) || args->error->code == TN_XLA_OK)
    return tn__xla_error(TN_XLA_INVALID_ARGUMENT, "Error must not be null or OK");
  return complete(args->future, args->error);
}

/* Takes a live future for one call. Returns 0 if another call has it. The lock is held. */
static int take(tn_xla_future_t *future) {
  if (!tn__xla_set_has(&live, future) || future->taken) return 0;
  future->taken = 1;
  return 1;
}

static tn_xla_error_t *not_its_own(void) {
  tn__unlock(&lock);
  return tn__xla_error(TN_XLA_INTERNAL, "the handler returned a future that does not belong to it");
}

/* Destroys a complete future and returns its error. The lock is held, and released here. */
static tn_xla_error_t *finish(tn_xla_future_t *future) {
  tn_xla_error_t *error = future->error;
  future->error = NULL;
  destroy(future);
  tn__unlock(&lock);
  return error;
}

tn_xla_error_t *tn__xla_future_wait(tn_xla_future_t *future) {
  tn__lock(&lock);
  if (!take(future)) return not_its_own();
  while (!future->complete) tn__wait(&completed, &lock);
  return finish(future);
}

tn_xla_error_t *tn__xla_future_then(tn_xla_future_t *future, tn__xla_then_t *then, void *data) {
  tn__lock(&lock);
  if (!take(future)) return not_its_own();
  if (future->complete) {
    then(data, finish(future));
    return NULL;
  }
  future->then = then;
  future->data = data;
  tn__unlock(&lock);
  return NULL;
}

void tn__xla_future_abandon(tn_xla_future_t *future) {
  tn__lock(&lock);
  if (tn__xla_set_has(&live, future) && !future->taken) {
    future->taken = future->abandoned = 1;
    if (future->complete) destroy(future);
  }
  tn__unlock(&lock);
}

size_t tn_xla_live_futures(void) { return tn__xla_set_count(&live, &lock); }
