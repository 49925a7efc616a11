/* The threads of JavaScript: how other threads find them, leave messages for them, and wait for them. One lock guards
 * all lists, and nothing foreign runs under it. An environment that is found under the lock is not shut. */
#include "environment.h"

#include <stdlib.h>


/* How long messages are served in one turn of the event loop, so that they do not starve its timers. */
#define MOST_MS 10

static tn__lock_t lock = TN__LOCK;
static tn_environment_t *environments;
static _Thread_local tn_environment_t *current;

tn__lock_t *tn__environments_lock(void) { return &lock; }

tn_environment_t *tn__environment_find(uint64_t id) {
  tn_environment_t *found = environments;
  while (found != NULL && found->id != id) found = found->next;
  return found;
}

tn_environment_t *tn_environment_current(void) { return current; }

uint64_t tn_environment_id(void) { return current == NULL ? 0 : current->id; }

int32_t tn_environment_open(tn_call_frame_t *frame, const tn_driver_t *driver) {
  static uint64_t last_id;
  TN_REQUIRE(frame != NULL && driver != NULL, "frame and driver must not be null");
  if (current != NULL) return tn__fail(TN_CLOSED, "this thread has an environment already");
  tn_environment_t *made = calloc(1, sizeof *made);
  if (made == NULL) return tn__fail(TN_OUT_OF_MEMORY, "out of memory: cannot allocate an environment");
  if (!tn__native_stack_open(&made->native)) {
    free(made);
    return tn__fail(TN_OUT_OF_MEMORY, "out of memory: cannot map the stack of native code");
  }
  made->frame = frame;
  made->driver = *driver;
  made->last = &made->first;
  made->floating_point = tn__floating_point_save();
  tn__lock(&lock);
  made->id = ++last_id;
  made->next = environments;
  environments = made;
  tn__unlock(&lock);
  current = made;
  return TN_OK;
}

/* Makes the event loop serve the environment, which the lock keeps from being freed. */
void tn__environment_add(tn_environment_t *to, tn_message_t *message) {
  const bool was_empty = to->first == NULL;
  message->next = NULL;
  *to->last = message;
  to->last = &message->next;
  if (was_empty) to->driver.wake(to->driver.data);
}

int32_t tn_environment_post(uint64_t environment, tn_message_t *message) {
  TN_REQUIRE(message != NULL && message->run != NULL, "message and its function must not be null");
  tn__lock(&lock);
  tn_environment_t *to = tn__environment_find(environment);
  if (to != NULL) tn__environment_add(to, message);
  tn__unlock(&lock);
  return to == NULL ? tn__fail(TN_CLOSED, "the thread of JavaScript has ended") : TN_OK;
}

/* Takes the first message. Under the lock. */
static tn_message_t *take_message(tn_environment_t *from) {
  tn_message_t *message = from->first;
  if (message != NULL && (from->first = message->next) == NULL) from->last = &from->first;
  return message;
}

bool tn__environment_remove(uint64_t environment, tn_message_t *message) {
  tn_environment_t *from = tn__environment_find(environment);
  if (from == NULL) return false;
  for (tn_message_t **at = &from->first; *at != NULL; at = &(*at)->next) {
    if (*at != message) continue;
    *at = message->next;
    if (from->last == &message->next) from->last = at;
    return true;
  }
  return false;
}

void tn_environment_will_serve(int32_t will) {
  if (current != NULL) __atomic_store_n(&current->will_serve, will != 0, __ATOMIC_RELAXED);
}

int32_t tn_environment_serve(void) {
  tn_environment_t *mine = current;
  if (mine == NULL) return 0;
  if (mine->depth == 0) mine->is_terminating = false;
  /* JavaScript runs in messages, and may shut the environment. */
  const unsigned long long end = tn__now_ms() + MOST_MS;
  do {
    tn__lock(&lock);
    tn_message_t *message = take_message(mine);
    tn__unlock(&lock);
    if (message == NULL) return 0;
    message->run(message, 0);
  } while (!mine->is_terminating && tn__now_ms() < end);
  tn__lock(&lock);
  const int32_t has_more = mine->first != NULL;
  tn__unlock(&lock);
  return has_more;
}

int32_t tn_environment_on_end(void (*hook)(void *data), void *data) {
  TN_REQUIRE(hook != NULL, "hook must not be null");
  if (current == NULL) return tn__fail(TN_CLOSED, "this thread has no environment");
  tn__end_hook_t *added = malloc(sizeof *added);
  if (added == NULL) return tn__fail(TN_OUT_OF_MEMORY, "out of memory: cannot allocate a hook");
  *added = (tn__end_hook_t){current->end_hooks, hook, data};
  current->end_hooks = added;
  return TN_OK;
}

tn_message_t *tn__environment_leave(tn_environment_t *environment) {
  tn__lock(&lock);
  tn_environment_t **at = &environments;
  while (*at != NULL && *at != environment) at = &(*at)->next;
  if (*at != NULL) *at = environment->next;
  tn_message_t *rest = environment->first;
  environment->first = NULL;
  environment->last = &environment->first;
  tn__unlock(&lock);
  return rest;
}

void tn__environment_free(void) {
  tn_environment_t *mine = current;
  for (tn__end_hook_t *hook; (hook = mine->end_hooks) != NULL;) {
    mine->end_hooks = hook->next;
    hook->run(hook->data);
    free(hook);
  }
  tn__native_stack_close(&mine->native);
  current = NULL;
  free(mine);
}
