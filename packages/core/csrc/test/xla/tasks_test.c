/* context.c: tasks of handlers, which run on other threads and may wait for each other. */
#include "check.h"
#include "support.h"
#include "thread.h"

enum { TASKS = 200 };

static tn__lock_t mutex = TN__LOCK;
static tn__condition_t changed = TN__CONDITION;
static int done, foreign;
static const void *handler_thread;

static void count(void *data) {
  tn__lock(&mutex);
  done += *(int *)data;
  foreign += thread_self() != handler_thread;
  tn__wake_all(&changed);
  tn__unlock(&mutex);
}

/* Waits in the handler, which would deadlock if the pool ran tasks on the thread of the handler. */
static tn_xla_error_t *schedule_all(tn_xla_call_frame_t *frame) {
  static int one = 1;
  handler_thread = thread_self();
  for (int i = 0; i < TASKS; i++) {
    tn_xla_pool_schedule_args_t args = {sizeof args, NULL, frame->ctx, count, &one};
    tn_xla_error_t *error = frame->api->pool_schedule(&args);
    if (error != NULL) return error;
  }
  tn__lock(&mutex);
  while (done < TASKS) tn__wait(&changed, &mutex);
  tn__unlock(&mutex);
  return NULL;
}

static int64_t threads;

static tn_xla_error_t *count_threads(tn_xla_call_frame_t *frame) {
  tn_xla_pool_num_threads_args_t args = {sizeof args, NULL, frame->ctx, &threads};
  return frame->api->pool_num_threads(&args);
}

static tn_xla_error_t *schedule_nothing(tn_xla_call_frame_t *frame) {
  tn_xla_pool_schedule_args_t args = {sizeof args, NULL, frame->ctx, NULL, NULL};
  return frame->api->pool_schedule(&args);
}

static tn_xla_error_t *count_nowhere(tn_xla_call_frame_t *frame) {
  tn_xla_pool_num_threads_args_t args = {sizeof args, NULL, frame->ctx, NULL};
  return frame->api->pool_num_threads(&args);
}

static int32_t run(tn_xla_handler_t *handler) {
  descriptor_t d;
  put_header(&d, 3, 0, 0, 0, (tn_xla_bundle_v1_t){NULL, NULL, NULL, handler});
  void *call = prepare(&d);
  const int32_t code = tn_xla_execute(call) == TN_OK ? TN_XLA_OK : failure_of(call).code;
  finish(call);
  return code;
}

TEST(tasks_run_on_threads_of_the_pool) {
  done = foreign = 0;
  CHECK(run(schedule_all) == TN_XLA_OK);
  CHECK(done == TASKS && foreign == TASKS);
  CHECK(run(count_threads) == TN_XLA_OK && threads >= 1);
}

TEST(null_tasks_are_refused) {
  CHECK(run(schedule_nothing) == TN_XLA_INVALID_ARGUMENT);
  CHECK(run(count_nowhere) == TN_XLA_INVALID_ARGUMENT);
}
