/* relay.c: calls of a thread of JavaScript by other threads. */
#include "environment.h"

#include "check.h"

enum { CALLERS = 4, CALLS = 200, NO_LIMIT = -1 };

/* A call of another thread, and its end. */
typedef struct {
  tn_relay_t relay;
  test_thread_t thread;
  atomic_int is_done;
  int32_t status;
  uint64_t took_ms;
} caller_t;

static void *call(void *data) {
  caller_t *caller = data;
  const uint64_t start = tn__now_ms();
  caller->status = tn_environment_relay(&caller->relay);
  caller->took_ms = tn__now_ms() - start;
  atomic_store(&caller->is_done, 1);
  return NULL;
}

static void start_call(caller_t *caller, uint64_t environment, uint32_t threads, int timeout_ms,
                       uint64_t (*run)(void *), void *data) {
  *caller = (caller_t){.relay = {environment, threads, (uint32_t)timeout_ms, run, data}};
  if (!thread_start(&caller->thread, call, caller)) abort();
}

static int32_t end_call(caller_t *caller) {
  thread_join(&caller->thread);
  return caller->status;
}

static atomic_int runs;
static const void *ran_on;

static uint64_t run(void *data) {
  atomic_fetch_add(&runs, 1);
  ran_on = thread_self();
  if (data != NULL) sleep_ms(*(int *)data);
  return 0;
}

TEST(a_call_of_another_thread_is_refused_at_once) {
  environment_t *environment = environment_open();
  caller_t caller;
  atomic_store(&runs, 0);
  start_call(&caller, environment->id, TN_THREADS_REFUSE, NO_LIMIT, run, NULL);
  CHECK(end_call(&caller) == TN_WRONG_THREAD && runs == 0 && environment->wakes == 0);
  CHECK(tn_environment_relay(NULL) == TN_INVALID_ARGUMENT);
  CHECK(tn_environment_relay(&(tn_relay_t){.environment = environment->id}) == TN_INVALID_ARGUMENT);
  environment_close(environment);
}

TEST(a_call_of_another_thread_waits_for_its_turn) {
  for (uint32_t threads = TN_THREADS_WAIT; threads <= TN_THREADS_RELAY; threads++) {
    environment_t *environment = environment_open();
    caller_t caller;
    atomic_store(&runs, 0);
    start_call(&caller, environment->id, threads, NO_LIMIT, run, NULL);
    sleep_ms(150); /* this thread is busy with JavaScript */
    CHECK(runs == 0 && !caller.is_done);
    CHECK(environment_serve_until(environment, &caller.is_done));
    CHECK(end_call(&caller) == TN_OK && runs == 1 && ran_on == thread_self());
    environment_close(environment);
  }
}

TEST(the_wait_for_the_start_of_a_call_has_a_limit) {
  for (uint32_t threads = TN_THREADS_WAIT; threads <= TN_THREADS_RELAY; threads++) {
    environment_t *environment = environment_open();
    caller_t caller;
    atomic_store(&runs, 0);
    start_call(&caller, environment->id, threads, 60, run, NULL);
    CHECK(end_call(&caller) == TN_TIMED_OUT && caller.took_ms >= 60 && caller.took_ms < 2000);
    tn_environment_serve();
    CHECK(runs == 0);
    start_call(&caller, environment->id, threads, 0, run, NULL);
    CHECK(end_call(&caller) == TN_TIMED_OUT);
    environment_close(environment);
  }
}

TEST(a_call_that_has_begun_is_waited_for_to_its_end) {
  for (uint32_t threads = TN_THREADS_WAIT; threads <= TN_THREADS_RELAY; threads++) {
    environment_t *environment = environment_open();
    caller_t caller;
    int long_ms = 300;
    atomic_store(&runs, 0);
    start_call(&caller, environment->id, threads, 150, run, &long_ms);
    while (runs == 0) environment_turn(environment);
    CHECK(end_call(&caller) == TN_OK && runs == 1 && caller.took_ms + CLOCK_STEP_MS >= 300);
    environment_close(environment);
  }
}

/* The caller of a native function that waits for another thread, which calls a function of the thread. */
static caller_t *awaited;

static int32_t wait_natively(tn_call_frame_t *frame) {
  (void)frame;
  thread_join(&awaited->thread);
  return awaited->status;
}

TEST(a_relay_ends_a_deadlock) {
  environment_t *environment = environment_open();
  caller_t caller;
  atomic_store(&runs, 0);
  awaited = &caller;
  start_call(&caller, environment->id, TN_THREADS_RELAY, NO_LIMIT, run, NULL);
  tn_driver_run(wait_natively);
  CHECK(environment->frame->error_number == TN_DEADLOCK && runs == 0);
  CHECK(caller.took_ms + CLOCK_STEP_MS >= 90 && caller.took_ms < 2000);
  tn_environment_serve();
  CHECK(runs == 0);
  environment_close(environment);
}

TEST(a_timeout_ends_a_deadlock) {
  environment_t *environment = environment_open();
  caller_t caller;
  awaited = &caller;
  start_call(&caller, environment->id, TN_THREADS_WAIT, 50, run, NULL);
  tn_driver_run(wait_natively);
  CHECK(environment->frame->error_number == TN_TIMED_OUT);
  environment_close(environment);
}

static int32_t sleep_natively(tn_call_frame_t *frame) {
  (void)frame;
  sleep_ms(250);
  return 0;
}

TEST(a_waiting_call_outlasts_a_long_native_call) {
  environment_t *environment = environment_open();
  caller_t caller;
  start_call(&caller, environment->id, TN_THREADS_WAIT, NO_LIMIT, run, NULL);
  tn_driver_run(sleep_natively);
  CHECK(!caller.is_done);
  CHECK(environment_serve_until(environment, &caller.is_done));
  CHECK(end_call(&caller) == TN_OK);
  environment_close(environment);
}

static int32_t nap(tn_call_frame_t *frame) {
  (void)frame;
  sleep_ms(10);
  return 0;
}

TEST(a_relay_is_not_refused_because_of_many_short_calls) {
  environment_t *environment = environment_open();
  caller_t caller;
  start_call(&caller, environment->id, TN_THREADS_RELAY, NO_LIMIT, run, NULL);
  for (int i = 0; i < 40; i++) tn_driver_run(nap);
  CHECK(!caller.is_done);
  CHECK(environment_serve_until(environment, &caller.is_done));
  CHECK(end_call(&caller) == TN_OK);
  environment_close(environment);
}

static int32_t serve_natively(tn_call_frame_t *frame) {
  (void)frame;
  tn_environment_will_serve(1);
  sleep_ms(250);
  while (!awaited->is_done) tn_environment_serve();
  tn_environment_will_serve(0);
  return 0;
}

TEST(a_native_call_that_serves_messages_is_no_deadlock) {
  environment_t *environment = environment_open();
  caller_t caller;
  awaited = &caller;
  start_call(&caller, environment->id, TN_THREADS_RELAY, NO_LIMIT, run, NULL);
  tn_driver_run(serve_natively);
  CHECK(end_call(&caller) == TN_OK);
  environment_close(environment);
}

/* A call that is answered after its function has returned, as those of asynchronous functions are. */
typedef struct {
  uint64_t answer;
  int result;
} later_t;

static uint64_t run_later(void *data) { return ((later_t *)data)->answer = tn_environment_next_answer(); }

static void accept_answer(void *caller, void *data) { ((later_t *)caller)->result = *(int *)data; }

TEST(a_call_is_answered_later) {
  environment_t *environment = environment_open();
  caller_t caller;
  later_t later = {0, 0};
  int result = 42;
  start_call(&caller, environment->id, TN_THREADS_RELAY, NO_LIMIT, run_later, &later);
  while (later.answer == 0) environment_turn(environment);
  CHECK(!caller.is_done);
  CHECK(!tn_environment_answer(later.answer + 1, accept_answer, &result));
  CHECK(tn_environment_answer(later.answer, accept_answer, &result));
  CHECK(end_call(&caller) == TN_OK && later.result == 42);
  CHECK(!tn_environment_answer(later.answer, accept_answer, &result));
  environment_close(environment);
}

TEST(an_answer_that_comes_too_late_is_ignored) {
  environment_t *environment = environment_open();
  caller_t caller;
  later_t later = {0, 0};
  int result = 42;
  start_call(&caller, environment->id, TN_THREADS_WAIT, 100, run_later, &later);
  while (later.answer == 0) environment_turn(environment);
  CHECK(end_call(&caller) == TN_TIMED_OUT);
  CHECK(!tn_environment_answer(later.answer, accept_answer, &result) && later.result == 0);
  environment_close(environment);
}

TEST(the_end_of_the_thread_answers_waiting_calls) {
  environment_t *environment = environment_open();
  const uint64_t id = environment->id;
  caller_t callers[3];
  later_t later = {0, 0};
  start_call(&callers[0], id, TN_THREADS_WAIT, NO_LIMIT, run_later, &later);
  while (later.answer == 0) environment_turn(environment);
  atomic_store(&runs, 0);
  start_call(&callers[1], id, TN_THREADS_WAIT, NO_LIMIT, run, NULL);
  start_call(&callers[2], id, TN_THREADS_RELAY, NO_LIMIT, run, NULL);
  sleep_ms(50);
  tn_environment_shut();
  for (int i = 0; i < 3; i++) CHECK(end_call(&callers[i]) == TN_CLOSED);
  environment_close(environment);
  start_call(&callers[0], id, TN_THREADS_WAIT, NO_LIMIT, run, NULL);
  CHECK(end_call(&callers[0]) == TN_CLOSED && runs == 0);
}

typedef struct {
  uint64_t environment;
  long argument, wrong;
} doubled_t;

static uint64_t double_argument(void *data) {
  ((doubled_t *)data)->argument *= 2;
  return 0;
}

static atomic_int callers_done;

static void *call_often(void *data) {
  doubled_t *doubled = data;
  for (long i = 0; i < CALLS; i++) {
    doubled->argument = i;
    const tn_relay_t relay = {doubled->environment, TN_THREADS_RELAY, UINT32_MAX, double_argument, doubled};
    doubled->wrong += tn_environment_relay(&relay) != TN_OK || doubled->argument != 2 * i;
  }
  atomic_fetch_add(&callers_done, 1);
  return NULL;
}

TEST(relayed_calls_of_many_threads_have_their_own_results) {
  environment_t *environment = environment_open();
  test_thread_t threads[CALLERS];
  doubled_t doubled[CALLERS];
  atomic_store(&callers_done, 0);
  for (int i = 0; i < CALLERS; i++) {
    doubled[i] = (doubled_t){environment->id, 0, 0};
    CHECK(thread_start(&threads[i], call_often, &doubled[i]));
  }
  while (callers_done < CALLERS) environment_turn(environment);
  for (int i = 0; i < CALLERS; i++) thread_join(&threads[i]);
  for (int i = 0; i < CALLERS; i++) CHECK(doubled[i].wrong == 0);
  environment_close(environment);
}
