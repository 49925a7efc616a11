#include <poll.h>
#include <pthread.h>

#include "check.h"
#include "support.h"
#include "tenon_call.h"

enum { CALLS = 40, MOST_THREADS = 1024 };

/* The number of calls that run at the same time. */
static int thread_limit(void) {
  tn_jobs_counts_t counts;
  tn_jobs_counts(&counts);
  return (int)counts.limit;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER;
static int gate_is_open, runs;

static void set_gate(int open) {
  pthread_mutex_lock(&mutex);
  gate_is_open = open;
  pthread_cond_broadcast(&opened);
  pthread_mutex_unlock(&mutex);
}

static tn_xla_error_t *wait_at_gate(tn_xla_call_frame_t *frame) {
  (void)frame;
  pthread_mutex_lock(&mutex);
  while (!gate_is_open) pthread_cond_wait(&opened, &mutex);
  runs++;
  pthread_mutex_unlock(&mutex);
  return NULL;
}

static tn_xla_error_t *fail(tn_xla_call_frame_t *frame) { return tn_xla_fail(frame, TN_XLA_ABORTED, "not today"); }

/* The future of the last call, which the test completes. */
static tn_xla_future_t *left;

static tn_xla_error_t *leave_future(tn_xla_call_frame_t *frame) {
  tn_xla_future_create_args_t create = {TN_XLA_SIZE_FUTURE_CREATE, NULL, NULL};
  tn_xla_error_t *error = frame->api->future_create(&create);
  pthread_mutex_lock(&mutex);
  left = frame->future = create.future;
  pthread_cond_broadcast(&opened);
  pthread_mutex_unlock(&mutex);
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

static void *prepare_one(tn_xla_handler_t *handler) {
  descriptor_t d;
  put_header(&d, 3, 0, 0, 0, (tn_xla_bundle_t){NULL, NULL, NULL, handler});
  return prepare(&d);
}

typedef struct {
  tn_xla_async_t *queue;
  int32_t descriptor;
} opened_t;

static opened_t open_queue(void) {
  opened_t made = {NULL, -1};
  if (tn_xla_async_open(&made.queue, &made.descriptor) != TN_OK) abort();
  return made;
}

/* Waits until a job is done. Returns how many were taken, and the id and status of the last one. */
static size_t take(opened_t from, int64_t *id, int32_t *status) {
  struct pollfd waited = {from.descriptor, POLLIN, 0};
  int64_t ids[8];
  int32_t statuses[8];
  size_t count = 0;
  if (poll(&waited, 1, 10000) != 1 || tn_xla_async_take(from.queue, ids, statuses, 8, &count) != TN_OK || count == 0) return 0;
  *id = ids[count - 1];
  *status = statuses[count - 1];
  return count;
}

static int32_t run_one(tn_xla_handler_t *handler, failure_t *failure) {
  opened_t queue = open_queue();
  tn_xla_job_t *job = NULL;
  void *call = prepare_one(handler);
  int64_t id = 0;
  int32_t status = -100;
  if (tn_xla_async_submit(queue.queue, call, 1, 7, &job) == TN_OK && (take(queue, &id, &status) != 1 || id != 7)) status = -100;
  if (status == TN_KERNEL_FAILED) *failure = failure_of(call);
  tn_xla_async_close(queue.queue);
  finish(call);
  return status;
}

TEST(calls_run_and_make_the_descriptor_readable) {
  opened_t queue = open_queue();
  void *calls[CALLS];
  int64_t id = 0;
  int32_t status = TN_OK;
  tn_xla_job_t *job = NULL;
  set_gate(1);
  runs = 0;
  for (int i = 0; i < CALLS; i++) {
    calls[i] = prepare_one(wait_at_gate);
    CHECK(tn_xla_async_submit(queue.queue, calls[i], 1, i, &job) == TN_OK);
  }
  for (size_t done = 0; done < CALLS;) {
    const size_t count = take(queue, &id, &status);
    CHECK(count > 0 && status == TN_OK);
    done += count;
  }
  struct pollfd quiet = {queue.descriptor, POLLIN, 0};
  CHECK(runs == CALLS && poll(&quiet, 1, 0) == 0);
  tn_xla_async_close(queue.queue);
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
  opened_t queue = open_queue();
  void *calls[MOST_THREADS + 1];
  tn_xla_future_t *futures[MOST_THREADS + 1];
  const int limit = thread_limit();
  tn_xla_job_t *job = NULL;
  int64_t id = 0;
  int32_t status = TN_OK;
  /* There are more jobs than threads, so each future must leave its thread free. */
  for (int i = 0; i <= limit; i++) {
    left = NULL;
    calls[i] = prepare_one(leave_future);
    CHECK(tn_xla_async_submit(queue.queue, calls[i], 1, i, &job) == TN_OK);
    pthread_mutex_lock(&mutex);
    while (left == NULL) pthread_cond_wait(&opened, &mutex);
    futures[i] = left;
    pthread_mutex_unlock(&mutex);
  }
  for (int i = 0; i <= limit; i++) {
    tn_xla_future_available_args_t available = {sizeof available, NULL, futures[i]};
    CHECK(XLA_FFI_GetApi()->future_set_available(&available) == NULL);
    CHECK(take(queue, &id, &status) == 1 && id == i && status == TN_OK);
  }
  tn_xla_async_close(queue.queue);
  for (int i = 0; i <= limit; i++) finish(calls[i]);
  CHECK(tn_xla_live_futures() == 0);
}

TEST(a_call_that_has_not_started_can_be_cancelled) {
  opened_t queue = open_queue();
  void *calls[MOST_THREADS + 2];
  tn_xla_job_t *jobs[MOST_THREADS + 2];
  const int limit = thread_limit();
  int64_t id = 0;
  int32_t status = TN_OK;
  set_gate(0);
  for (int i = 0; i < limit + 2; i++) {
    calls[i] = prepare_one(wait_at_gate);
    CHECK(tn_xla_async_submit(queue.queue, calls[i], 1, i, &jobs[i]) == TN_OK);
  }
  CHECK(tn_xla_async_cancel(jobs[limit + 1]) == TN_OK);
  CHECK(tn_xla_async_cancel(jobs[limit]) == TN_OK);
  set_gate(1);
  for (size_t done = 0; done < (size_t)limit;) {
    const size_t count = take(queue, &id, &status);
    CHECK(count > 0 && id < limit);
    done += count;
  }
  tn_xla_async_close(queue.queue);
  for (int i = 0; i < limit + 2; i++) finish(calls[i]);
}

TEST(closing_waits_for_calls_in_flight) {
  opened_t queue = open_queue();
  tn_xla_job_t *job = NULL;
  void *call = prepare_one(wait_at_gate);
  set_gate(1);
  runs = 0;
  CHECK(tn_xla_async_submit(queue.queue, call, 1, 0, &job) == TN_OK);
  tn_xla_async_close(queue.queue);
  CHECK(runs == 1);
  finish(call);
}

TEST(an_asynchronous_call_refuses_nulls) {
  opened_t queue = open_queue();
  tn_xla_job_t *job = NULL;
  int64_t id = 0;
  int32_t status = TN_OK;
  size_t count = 0;
  CHECK(tn_xla_async_open(NULL, &status) == TN_INVALID_ARGUMENT);
  CHECK(tn_xla_async_submit(queue.queue, NULL, 1, 0, &job) == TN_INVALID_ARGUMENT);
  CHECK(tn_xla_async_submit(NULL, &id, 1, 0, &job) == TN_INVALID_ARGUMENT);
  CHECK(tn_xla_async_take(NULL, &id, &status, 1, &count) == TN_INVALID_ARGUMENT);
  CHECK(tn_xla_async_cancel(NULL) == TN_INVALID_ARGUMENT);
  CHECK(tn_xla_async_take(queue.queue, &id, &status, 1, &count) == TN_OK && count == 0);
  tn_xla_async_close(NULL);
  tn_xla_async_close(queue.queue);
}
