/* script_stub.c: calls of stubs by threads that do not run the JavaScript of the stub. */
#include "check.h"
#include "stub_support.h"
#include "thread.h"

enum { CALLERS = 8, DECOYS = 1000 };

static int runs;

static int throw_always(environment_t *environment) {
  (void)environment;
  runs++;
  return THROWS;
}

/* A call of the stub by another thread. */
typedef struct {
  void *stub;
  test_thread_t thread;
  atomic_int is_done;
  int64_t result;
} caller_t;

static void *call_once(void *data) {
  caller_t *caller = data;
  caller->result = ((one_t *)code_at(caller->stub))(21);
  atomic_store(&caller->is_done, 1);
  return NULL;
}

static void start_call(caller_t *caller, void *stub) {
  *caller = (caller_t){.stub = stub};
  if (!thread_start(&caller->thread, call_once, caller)) abort();
}

static int64_t result_of(caller_t *caller) {
  thread_join(&caller->thread);
  return caller->result;
}

static int double_it(environment_t *environment) {
  runs++;
  environment->frame->results[0] = 2 * environment->frame->integers[0];
  return RETURNS;
}

TEST(a_stub_refuses_other_threads_or_lets_them_wait) {
  environment_t *environment = environment_open();
  environment->functions[FIRST_FUNCTION] = double_it;
  tn_stub_description_t description = describe(FIRST_FUNCTION);
  tn_stub_counts_t before, after;
  caller_t caller;
  description.refused = 9;
  description.threads = TN_THREADS_REFUSE;
  runs = 0;
  tn_stub_counts(&before);
  start_call(&caller, make_stub(description));
  CHECK(result_of(&caller) == 9 && runs == 0 && environment->wakes == 0);
  tn_stub_counts(&after);
  CHECK(after.refused == before.refused + 1);
  for (description.threads = TN_THREADS_WAIT; description.threads <= TN_THREADS_RELAY; description.threads++) {
    start_call(&caller, make_stub(description));
    CHECK(environment_serve_until(environment, &caller.is_done) && result_of(&caller) == 42);
  }
  description.threads = TN_THREADS_WAIT;
  description.timeout_ms = 30;
  runs = 0;
  start_call(&caller, make_stub(description));
  CHECK(result_of(&caller) == 9);
  tn_environment_serve();
  CHECK(runs == 0);
  environment_close(environment);
}

TEST(an_error_for_another_thread_is_reported) {
  environment_t *environment = environment_open();
  environment->functions[FIRST_FUNCTION] = throw_always;
  tn_stub_description_t description = describe(FIRST_FUNCTION);
  caller_t caller;
  description.refused = 9;
  start_call(&caller, make_stub(description));
  CHECK(environment_serve_until(environment, &caller.is_done));
  CHECK(result_of(&caller) == 9 && environment->reports == 1);
  environment_close(environment);
}

TEST(a_waiting_call_is_refused_when_the_stub_dies) {
  environment_t *environment = environment_open();
  environment->functions[FIRST_FUNCTION] = double_it;
  tn_stub_description_t description = describe(FIRST_FUNCTION);
  caller_t callers[3];
  description.refused = 9;
  void *stub = make_stub(description), *other = make_stub(description);
  runs = 0;
  start_call(&callers[0], stub);
  start_call(&callers[1], stub);
  start_call(&callers[2], other);
  sleep_ms(50);
  CHECK(tn_stub_close(stub) == TN_OK);
  /* The event loop does not run. */
  for (int i = 0; i < 2; i++) CHECK(result_of(&callers[i]) == 9);
  CHECK(runs == 0 && !callers[2].is_done);
  CHECK(environment_serve_until(environment, &callers[2].is_done) && result_of(&callers[2]) == 42);
  environment_close(environment);
}

TEST(waiting_calls_of_stubs_are_refused_at_the_end) {
  environment_t *environment = environment_open();
  environment->functions[FIRST_FUNCTION] = double_it;
  tn_stub_description_t description = describe(FIRST_FUNCTION);
  caller_t caller;
  description.refused = 9;
  runs = 0;
  start_call(&caller, make_stub(description));
  sleep_ms(50);
  environment_close(environment);
  CHECK(result_of(&caller) == 9 && runs == 0);
}

static int return_id(environment_t *environment) {
  environment->frame->results[0] = (uint64_t)(uintptr_t)environment->data;
  return RETURNS;
}
static atomic_int stop, wrong, right;

static void *call_until_stopped(void *stub) {
  while (!atomic_load(&stop)) {
    const int64_t result = ((one_t *)code_at(stub))(21);
    if (result == 42) atomic_fetch_add(&right, 1);
    else if (result != 9) atomic_fetch_add(&wrong, 1);
  }
  return NULL;
}

/* 8 threads call a stub that dies while others are made, at addresses around it and with its id. */
TEST(no_call_of_a_dying_stub_reaches_another_function) {
  environment_t *environment = environment_open();
  environment->functions[FIRST_FUNCTION] = double_it;
  environment->functions[FIRST_FUNCTION + 1] = return_id;
  environment->data = (void *)(uintptr_t)666;
  tn_stub_description_t description = describe(FIRST_FUNCTION), decoy = describe(FIRST_FUNCTION + 1);
  description.refused = decoy.refused = 9;
  test_thread_t threads[CALLERS];
  atomic_store(&stop, 0);
  atomic_store(&wrong, 0);
  atomic_store(&right, 0);
  void *stub = make_stub(description);
  for (int i = 0; i < CALLERS; i++) CHECK(thread_start(&threads[i], call_until_stopped, stub));
  while (atomic_load(&right) < 50) environment_turn(environment);
  for (int i = 0; i < DECOYS; i++) {
    if (i == DECOYS / 2) {
      CHECK(tn_stub_close(stub) == TN_OK);
      environment->functions[FIRST_FUNCTION] = return_id;
    }
    void *made = make_stub(decoy);
    if (i % 2 == 0) CHECK(tn_stub_close(made) == TN_OK);
    tn_environment_serve();
  }
  const int right_before = atomic_load(&right);
  for (int i = 0; i < 20; i++) environment_turn(environment);
  atomic_store(&stop, 1);
  for (int i = 0; i < CALLERS; i++) thread_join(&threads[i]);
  CHECK(atomic_load(&wrong) == 0 && atomic_load(&right) <= right_before + CALLERS);
  environment_close(environment);
}

static uint64_t jobs[4];
static int job_count;

/* Calls itself once if its argument is not 0, as TypeScript may. */
static int call_within(environment_t *environment) {
  jobs[job_count++] = environment->job;
  if (environment->frame->integers[0] != 0) environment_call(environment, (uintptr_t)environment->data, 0, 0, 0);
  environment->frame->results[0] = 1;
  return RETURNS;
}

static void submit(environment_t *environment, void *target, uint64_t argument, uint64_t id) {
  tn_call_frame_t *frame = environment->frame;
  frame->target = (uintptr_t)target;
  frame->flags = frame->stack_size = 0;
  frame->integers[0] = argument;
  CHECK(tn_call_submit(id) == TN_OK);
}

TEST(a_stub_runs_for_the_job_that_calls_it_and_calls_within_do_not) {
  environment_t *environment = environment_open();
  environment->functions[FIRST_FUNCTION] = call_within;
  void *stub = environment->data = make_stub(describe(FIRST_FUNCTION));
  caller_t caller;
  job_count = 0;
  submit(environment, stub, 0, 70);
  CHECK(environment_await(environment, 1));
  submit(environment, stub, 1, 71);
  CHECK(environment_await(environment, 2));
  CHECK(job_count == 3 && jobs[0] == 70 && jobs[1] == 71 && jobs[2] == 0);
  environment_call(environment, (uintptr_t)stub, 0, 0, 0);
  CHECK(job_count == 4 && jobs[3] == 0);
  job_count = 0;
  start_call(&caller, stub);
  CHECK(environment_serve_until(environment, &caller.is_done));
  result_of(&caller);
  CHECK(job_count >= 1 && jobs[0] == 0);
  environment_close(environment);
}
