/* TypeScript functions that native code calls by a handle. Released ids are queued for their thread, and calls from
 * other threads are refused. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "call/callback.h"
#include "environment.h"

struct tn_callback {
  uint64_t environment;
  int64_t id;
  atomic_size_t references;
  bool is_hold; /* its release wakes the event loop */
  tn_callback_t *next_released;
};

static void free_all(tn_callback_t *list) {
  for (tn_callback_t *next; list != NULL; list = next) {
    next = list->next_released;
    free(list);
  }
}

int32_t tn_callbacks_take_released(int64_t *ids, size_t capacity, size_t *count) {
  TN_REQUIRE(ids != NULL && count != NULL, "ids and count must not be null");
  tn_environment_t *mine = tn_environment_current();
  size_t taken = 0;
  tn_callback_t *rest = NULL;
  if (mine != NULL) {
    tn__lock(tn__environments_lock());
    rest = mine->released;
    tn_callback_t *last = NULL;
    for (tn_callback_t *next = rest; next != NULL && taken < capacity; next = next->next_released) {
      ids[taken++] = next->id;
      last = next;
    }
    if (last != NULL) {
      mine->released = last->next_released;
      last->next_released = NULL;
    }
    tn__unlock(tn__environments_lock());
    if (taken > 0) free_all(rest);
  }
  *count = taken;
  return TN_OK;
}

void tn__callbacks_close_all(tn_environment_t *environment) {
  free_all(environment->released);
  environment->released = NULL;
}

static int32_t create(int64_t id, bool is_hold, tn_callback_t **out) {
  TN_REQUIRE(out != NULL, "out must not be null");
  const tn_environment_t *environment = tn_environment_current();
  if (environment == NULL || environment->is_shut) return tn__fail(TN_CLOSED, "this thread is ending");
  tn_callback_t *callback = calloc(1, sizeof *callback);
  if (callback == NULL) return tn__fail(TN_OUT_OF_MEMORY, "out of memory: cannot allocate a callback");
  callback->environment = environment->id;
  callback->id = id;
  callback->is_hold = is_hold;
  atomic_init(&callback->references, 1);
  *out = callback;
  return TN_OK;
}

int32_t tn_callback_create(int64_t id, tn_callback_t **out) { return create(id, false, out); }

int32_t tn_hold_create(int64_t id, tn_callback_t **out) { return create(id, true, out); }

void tn_callback_retain(tn_callback_t *callback) {
  if (callback != NULL) atomic_fetch_add(&callback->references, 1);
}

/* The message of an environment. */
static void take_holds(tn_message_t *message, int32_t is_closing) {
  (void)message;
  if (is_closing) return;
  tn_environment_t *mine = tn_environment_current();
  tn__lock(tn__environments_lock());
  mine->will_take = false;
  tn__unlock(tn__environments_lock());
  if (!tn__enter_script(mine, TN_FUNCTION_TAKE_RELEASED) && mine->depth == 0)
    tn__enter_script(mine, TN__FUNCTION_REPORT_ERROR);
}

void tn_callback_release(tn_callback_t *callback) {
  if (callback == NULL || atomic_fetch_sub(&callback->references, 1) != 1) return;
  tn__lock(tn__environments_lock());
  tn_environment_t *owner = tn__environment_find(callback->environment);
  if (owner != NULL) {
    callback->next_released = owner->released;
    owner->released = callback;
    if (callback->is_hold && !owner->will_take) {
      owner->will_take = true;
      owner->taking.run = take_holds;
      tn__environment_add(owner, &owner->taking);
    }
  }
  tn__unlock(tn__environments_lock());
  if (owner == NULL) free(callback);
}

uint64_t tn_callback_environment(const tn_callback_t *callback) { return callback->environment; }

static int32_t fail_closed(void) {
  return tn__fail(TN_CLOSED, "a TypeScript function was called after its JavaScript had ended");
}

int32_t tn__callback_run(tn_environment_t *environment, const tn_callback_t *callback, void *arguments,
                         void *result) {
  if (environment->is_shut) return fail_closed();
  environment->frame->integers[0] = (uintptr_t)arguments;
  environment->frame->integers[1] = (uintptr_t)result;
  if (tn__enter_script(environment, (uint32_t)callback->id)) return TN_OK;
  return environment->is_terminating ? fail_closed() : tn__fail(TN_CALLBACK_FAILED, "a TypeScript function threw");
}

int32_t tn_callback_invoke(tn_callback_t *callback, void *arguments, void *result) {
  TN_REQUIRE(callback != NULL, "callback must not be null");
  tn_environment_t *environment = tn_environment_current();
  if (environment == NULL || environment->id != callback->environment)
    return tn__fail(TN_WRONG_THREAD,
                    "a TypeScript function was called from a thread that does not run its JavaScript");
  return tn__callback_run(environment, callback, arguments, result);
}
