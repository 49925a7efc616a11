/* Calls of TypeScript functions from other threads. A C function takes the place of that of TypeScript. */
#include <stdatomic.h>

#include "environment.h"
#include "raised.h"

enum { CALLERS = 4, CALLS = 300 };

/* A thread that acts as a JavaScript thread. Its function returns twice its argument, or answers so later. */
typedef struct {
  uint32_t threads;
  uint32_t timeout_ms;
  bool serves; /* otherwise it only waits until `leave` is set */
  TVMFFIObjectHandle function;
  atomic_int is_ready, leave, runs;
  tn_packed_stack_t *stack;
  uint64_t unanswered;
  int64_t answer;
} owner_t;

static TVMFFIAny *slot_at(tn_packed_stack_t *stack, int base) {
  return (TVMFFIAny *)(void *)((char *)stack + TN_PACKED_SLOTS) + base;
}

static int run(environment_t *environment) {
  owner_t *owner = environment->data;
  TVMFFIAny *slot = slot_at(owner->stack, (int)environment->frame->integers[0]);
  int64_t twice = 2 * slot[1].v_int64;
  atomic_fetch_add(&owner->runs, 1);
  *slot = (TVMFFIAny){.type_index = kTVMFFINone};
  if (owner->threads == TN_PACKED_THREADS_ASYNC) {
    owner->unanswered = ((tn_packed_head_t *)owner->stack)->words[TN_PACKED_ANSWERED_CALL];
    owner->answer = twice;
  } else {
    *slot = (TVMFFIAny){.type_index = kTVMFFIInt, .v_int64 = twice};
  }
  return RETURNS;
}

static void *own(void *data) {
  owner_t *owner = data;
  environment_t *environment = environment_open();
  environment->data = owner;
  environment->functions[FIRST_FUNCTION] = run;
  tn_callback_t *callback = NULL;
  bool is_open = tn_packed_open(&owner->stack) == TN_OK && tn_callback_create(FIRST_FUNCTION, &callback) == TN_OK;
  TVMFFIAny *slot = is_open ? slot_at(owner->stack, 0) : NULL;
  if (is_open && tn_packed_function_create(slot, callback, owner->threads, owner->timeout_ms) == 0) owner->function = slot->v_obj;
  tn_callback_release(callback);
  atomic_store(&owner->is_ready, 1);
  while (!atomic_load(&owner->leave)) {
    sleep_ms(1);
    if (!owner->serves) continue;
    tn_environment_serve();
    if (owner->unanswered == 0) continue;
    slot = slot_at(owner->stack, 8);
    *slot = (TVMFFIAny){.type_index = kTVMFFIInt, .v_int64 = owner->answer};
    const uint64_t answered = owner->unanswered;
    owner->unanswered = 0;
    tn_packed_answer(answered, slot, 0);
  }
  environment_close(environment);
  return NULL;
}

static int start(owner_t *owner, test_thread_t *thread) {
  if (!bind_ffi() || !thread_start(thread, own, owner)) return 0;
  while (!atomic_load(&owner->is_ready)) sleep_ms(1);
  return owner->function != NULL;
}

/* Calls a function with a number and returns the result, or -1. */
static int64_t call_with(TVMFFIObjectHandle function, int64_t value) {
  TVMFFIAny argument = {.type_index = kTVMFFIInt, .v_int64 = value}, result = {.type_index = kTVMFFINone};
  return TVMFFIFunctionCall(function, &argument, 1, &result) == 0 ? result.v_int64 : -1;
}

static void *call_often(void *function) {
  int64_t wrong = 0;
  for (int64_t i = 0; i < CALLS; i++) wrong += call_with(function, i) != 2 * i;
  return (void *)(intptr_t)wrong;
}

static int64_t wrong_answers(TVMFFIObjectHandle function, int callers) {
  test_thread_t threads[CALLERS];
  int64_t wrong = 0;
  for (int i = 0; i < callers; i++) wrong += !thread_start(&threads[i], call_often, function);
  for (int i = 0; i < callers; i++) {
    void *found = thread_join(&threads[i]);
    wrong += (intptr_t)found;
  }
  return wrong;
}

TEST(relayed_calls_of_many_threads_are_answered) {
  owner_t owner = {.threads = TN_PACKED_THREADS_RELAY, .timeout_ms = 60000, .serves = true};
  test_thread_t thread;
  CHECK(start(&owner, &thread));
  CHECK(wrong_answers(owner.function, CALLERS) == 0);
  atomic_store(&owner.leave, 1);
  thread_join(&thread);
  CHECK(atomic_load(&owner.runs) == CALLERS * CALLS);
  CHECK(call_with(owner.function, 1) == -1 && raised_is("ThreadError", "the thread that owns this TypeScript function has ended"));
  TVMFFIObjectDecRef(owner.function);
}

TEST(asynchronous_calls_are_answered_later) {
  owner_t owner = {.threads = TN_PACKED_THREADS_ASYNC, .timeout_ms = 60000, .serves = true};
  test_thread_t thread;
  CHECK(start(&owner, &thread));
  CHECK(wrong_answers(owner.function, 1) == 0);
  atomic_store(&owner.leave, 1);
  thread_join(&thread);
  TVMFFIObjectDecRef(owner.function);
}

TEST(a_relayed_call_that_times_out_is_never_run) {
  owner_t owner = {.threads = TN_PACKED_THREADS_RELAY, .timeout_ms = 30};
  test_thread_t thread;
  CHECK(start(&owner, &thread));
  CHECK(call_with(owner.function, 1) == -1);
  CHECK(raised_is("ThreadError", "timed out: the thread that owns this TypeScript function did not answer"));
  atomic_store(&owner.leave, 1);
  thread_join(&thread);
  CHECK(atomic_load(&owner.runs) == 0);
  TVMFFIObjectDecRef(owner.function);
}

static void *fail_once(void *function) {
  return (void *)(intptr_t)(call_with(function, 1) == -1 &&
                            raised_is("ThreadError", "the thread that owns this TypeScript function has ended"));
}

TEST(a_relayed_call_fails_when_the_thread_ends) {
  owner_t owner = {.threads = TN_PACKED_THREADS_RELAY, .timeout_ms = 60000};
  test_thread_t thread, caller;
  CHECK(start(&owner, &thread));
  CHECK(thread_start(&caller, fail_once, owner.function));
  sleep_ms(20);
  atomic_store(&owner.leave, 1);
  thread_join(&thread);
  void *failed = thread_join(&caller);
  CHECK((intptr_t)failed == 1);
  TVMFFIObjectDecRef(owner.function);
}
