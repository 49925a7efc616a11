/* async.c: calls on threads of the core, whose ends are completions. */
#include "environment.h"

#include "check.h"
#include "support.h"

enum { CALLS = 40, MOST_THREADS = 1024 };

/* The number of calls that run at the same time. */
static int thread_limit(void) {
  tn_jobs_counts_t counts;
  tn_jobs_counts(&counts);
  return (int)counts.limit;
}

static tn__lock_t mutex = TN__LOCK;
static tn__condition_t opened = TN__CONDITION;
static int gate_is_open, runs;

static void set_gate(int open) {
  tn__lock(&mutex);
  gate_is_open = open;
  tn__wake_all(&opened);
  tn__unlock(&mutex);
}

static tn_xla_error_t *wait_at_gate(tn_xla_call_frame_t *frame) {
  (void)frame;
  tn__lock(&mutex);
  while (!gate_is_open) tn__wait(&opened, &mutex);
  runs++;
  tn__unlock(&mutex);
  return NULL;
}

/* Waits until so many calls of the process run. */
static void wait_until_calls_run(uint64_t count) {
  tn_jobs_counts_t counts;
  do tn_jobs_counts(&counts);
  while (counts.running < count || counts.queued > 0);
}

static void *open_gate_later(void *unused) {
  (void)unused;
  sleep_ms(50);
  set_gate(1);
  return NULL;
}

static tn_xla_error_t *fail(tn_xla_call_frame_t *frame) { return tn_xla_fail(frame, TN_XLA_ABORTED, "not today"); }

/* The future of the last call, which the test completes. */
static tn_xla_future_t *left;

static tn_xla_error_t *leave_future(tn_xla_call_frame_t *frame) {
  tn_xla_future_create_args_t create = {TN_XLA_SIZE_FUTURE_CREATE, NULL, NULL};
  tn_xla_error_t *error = frame->api->future_create(&create);
  tn__lock(&mutex);
  left = frame->future = create.future;
  tn__wake_all(&opened);
  tn__unlock(&mutex);
  return error;
}

static tn_xla_error_t *leave_complete_future(tn_xla_call_frame_t *frame) {
  tn_xla_error_t *error = leave_future(frame);
  tn_xla_future_available_args_t available = {sizeof available, NULL, frame->future};
  return error == NULL ? frame->api->future_set_available(&available) : error;
}

static tn_xla_error_t *leave_foreign_future(tn_xla_call_frame_t *frame) {
  static int none;
  frame->future = (tn_xla_future_t *)(void *)&none;
  return NULL;
}

static int is_complete;

static void *complete_later(void *future) {
  tn_xla_future_available_args_t available = {sizeof available, NULL, future};
  sleep_ms(50);
  is_complete = 1;
  XLA_FFI_GetApi()->future_set_available(&available);
  return NULL;
}

static void *prepare_one(tn_xla_handler_t *handler) {
  descriptor_t d;
  put_header(&d, 3, 0, 0, 0, (tn_xla_bundle_v1_t){NULL, NULL, NULL, handler});
  return prepare(&d);
}

static int32_t run_one(tn_xla_handler_t *handler, failure_t *failure) {
  environment_t *environment = environment_open();
  tn_xla_job_t *job = NULL;
  void *call = prepare_one(handler);
  int32_t status = -100;
  if (tn_xla_async_submit(call, TN_XLA_JOB_TYPED, 7, "test", 4, &job) == TN_OK && environment_await(environment, 1) &&
      environment->ids[0] == 7)
    status = environment->statuses[0];
  if (status == TN_KERNEL_FAILED) *failure = failure_of(call);
  environment_close(environment);
  finish(call);
  return status;
}

TEST(calls_run_and_wake_the_event_loop) {
  environment_t *environment = environment_open();
  void *calls[CALLS];
  tn_xla_job_t *job = NULL;
  bool has_ended[CALLS] = {false};
  set_gate(1);
  runs = 0;
  for (int i = 0; i < CALLS; i++) {
    calls[i] = prepare_one(wait_at_gate);
    CHECK(tn_xla_async_submit(calls[i], TN_XLA_JOB_TYPED, i, "test", 4, &job) == TN_OK);
  }
  CHECK(environment_await(environment, CALLS));
  for (int i = 0; i < CALLS; i++) {
    CHECK(environment->statuses[i] == TN_OK && environment->ids[i] < CALLS && !has_ended[environment->ids[i]]);
    has_ended[environment->ids[i]] = true;
  }
  const int wakes = atomic_load(&environment->wakes);
  CHECK(wakes >= 1 && wakes <= CALLS);
  tn_environment_serve();
  CHECK(runs == CALLS && environment->completions == CALLS && atomic_load(&environment->wakes) == wakes);
  environment_close(environment);
  for (int i = 0; i < CALLS; i++) finish(calls[i]);
}

TEST(a_failed_call_has_its_status) {
  failure_t failure = {0, 0, ""};
  CHECK(run_one(fail, &failure) == TN_KERNEL_FAILED);
  CHECK(failure.code == TN_XLA_ABORTED && strcmp(failure.text, "not today") == 0);
  CHECK(run_one(leave_foreign_future, &failure) == TN_KERNEL_FAILED && failure.code == TN_XLA_INTERNAL);
  CHECK(run_one(leave_complete_future, &failure) == TN_OK);
}

TEST(a_future_does_not_occupy_a_thread) {
  environment_t *environment = environment_open();
  void *calls[MOST_THREADS + 1];
  tn_xla_future_t *futures[MOST_THREADS + 1];
  const int limit = thread_limit();
  tn_xla_job_t *job = NULL;
  /* There are more jobs than threads, so each future must leave its thread free. */
  for (int i = 0; i <= limit; i++) {
    left = NULL;
    calls[i] = prepare_one(leave_future);
    CHECK(tn_xla_async_submit(calls[i], TN_XLA_JOB_TYPED, i, "test", 4, &job) == TN_OK);
    tn__lock(&mutex);
    while (left == NULL) tn__wait(&opened, &mutex);
    futures[i] = left;
    tn__unlock(&mutex);
  }
  for (int i = 0; i <= limit; i++) {
    tn_xla_future_available_args_t available = {sizeof available, NULL, futures[i]};
    CHECK(environment->completions == (size_t)i);
    CHECK(XLA_FFI_GetApi()->future_set_available(&available) == NULL);
    CHECK(environment_await(environment, (size_t)i + 1));
    CHECK(environment->ids[i] == (uint64_t)i && environment->statuses[i] == TN_OK);
  }
  environment_close(environment);
  for (int i = 0; i <= limit; i++) finish(calls[i]);
  CHECK(tn_xla_live_futures() == 0);
}

TEST(a_call_that_has_not_started_can_be_cancelled) {
  environment_t *environment = environment_open();
  void *calls[MOST_THREADS + 2];
  tn_xla_job_t *jobs[MOST_THREADS + 2];
  const int limit = thread_limit();
  set_gate(0);
  runs = 0;
  for (int i = 0; i < limit + 2; i++) {
    calls[i] = prepare_one(wait_at_gate);
    CHECK(tn_xla_async_submit(calls[i], TN_XLA_JOB_TYPED, i, "test", 4, &jobs[i]) == TN_OK);
  }
  CHECK(tn_xla_async_cancel(jobs[limit + 1]) == TN_OK);
  CHECK(tn_xla_async_cancel(jobs[limit]) == TN_OK);
  set_gate(1);
  CHECK(environment_await(environment, (size_t)limit));
  for (int i = 0; i < limit; i++) CHECK(environment->ids[i] < (uint64_t)limit);
  environment_close(environment);
  CHECK(runs == limit);
  for (int i = 0; i < limit + 2; i++) finish(calls[i]);
}

TEST(the_end_of_a_thread_waits_for_calls_that_run) {
  environment_t *environment = environment_open();
  tn_xla_job_t *job = NULL;
  void *call = prepare_one(wait_at_gate);
  set_gate(0);
  runs = 0;
  CHECK(tn_xla_async_submit(call, TN_XLA_JOB_TYPED, 0, "test", 4, &job) == TN_OK);
  wait_until_calls_run(1);
  test_thread_t opener;
  CHECK(thread_start(&opener, open_gate_later, NULL));
  environment_close(environment);
  CHECK(runs == 1);
  thread_join(&opener);
  finish(call);
}

TEST(the_end_of_a_thread_waits_for_futures) {
  environment_t *environment = environment_open();
  tn_xla_job_t *job = NULL;
  void *call = prepare_one(leave_future);
  left = NULL;
  CHECK(tn_xla_async_submit(call, TN_XLA_JOB_TYPED, 0, "test", 4, &job) == TN_OK);
  tn__lock(&mutex);
  while (left == NULL) tn__wait(&opened, &mutex);
  tn__unlock(&mutex);
  test_thread_t completer;
  is_complete = 0;
  CHECK(thread_start(&completer, complete_later, left));
  environment_close(environment);
  CHECK(is_complete == 1);
  thread_join(&completer);
  finish(call);
}

TEST(an_asynchronous_call_refuses_nulls) {
  environment_t *environment = environment_open();
  tn_xla_job_t *job = NULL;
  int64_t call = 0;
  CHECK(tn_xla_async_submit(NULL, TN_XLA_JOB_TYPED, 0, "test", 4, &job) == TN_INVALID_ARGUMENT);
  CHECK(tn_xla_async_submit(&call, TN_XLA_JOB_TYPED, 0, "test", 4, NULL) == TN_INVALID_ARGUMENT);
  CHECK(tn_xla_async_submit(&call, TN_XLA_JOB_BATCH + 1, 0, "test", 4, &job) == TN_INVALID_ARGUMENT);
  CHECK(tn_xla_async_cancel(NULL) == TN_INVALID_ARGUMENT);
  tn_environment_serve();
  CHECK(environment->completions == 0);
  environment_close(environment);
}
