/* Calls that run on threads of the core. JavaScript takes those that are done out of a queue. */
#include <stdlib.h>

#include "internal.h"

struct tn_xla_job {
  tn_xla_job_t *next; /* among the jobs that are done */
  tn_xla_async_t *queue;
  void *call;
  int64_t id;
  int32_t kind;
  int32_t status;
};

struct tn_xla_async {
  tn__lock_t lock;
  tn__condition_t settled; /* nothing is in flight */
  tn__event_t event;
  tn_xla_job_t *first; /* the jobs that are done, in this order */
  tn_xla_job_t **last;
  size_t in_flight; /* jobs that are submitted and neither done nor cancelled */
  size_t expected;  /* events that have neither arrived nor been forgotten */
  int closed;       /* the last event frees the queue */
  int has_hook;      /* the hook at the end of the thread will use the queue */
};

static void end_thread(void *queue);

int32_t tn_xla_async_open(tn_xla_async_t **out, int32_t *descriptor) {
  TN_REQUIRE(out != NULL && descriptor != NULL, "out and descriptor must not be null");
  tn_xla_async_t *queue = calloc(1, sizeof *queue);
  if (queue == NULL) return tn__fail(TN_OUT_OF_MEMORY, "out of memory: cannot allocate a queue of calls");
  const int32_t status = tn__event_open(&queue->event);
  if (status != TN_OK) {
    free(queue);
    return status;
  }
  queue->lock = (tn__lock_t)TN__LOCK;
  queue->settled = (tn__condition_t)TN__CONDITION;
  queue->last = &queue->first;
  queue->has_hook = tn__javascript_thread_on_end(end_thread, queue);
  *out = queue;
  *descriptor = queue->event.from;
  return TN_OK;
}

static void free_queue(tn_xla_async_t *queue) {
  for (tn_xla_job_t *job = queue->first, *next; job != NULL; job = next) {
    next = job->next;
    free(job);
  }
  tn__event_close(&queue->event);
  free(queue);
}

/* Adds a job to those that are done. The lock is held. */
static void deliver(tn_xla_async_t *queue, tn_xla_job_t *job, int32_t status) {
  job->status = status;
  if (queue->first == NULL) tn__event_signal(&queue->event);
  *queue->last = job;
  queue->last = &job->next;
}

/* Ends a job. The queue must not be accessed after the lock is released, because it may be freed. */
static void finish(tn_xla_job_t *job, int32_t status) {
  tn_xla_async_t *queue = job->queue;
  tn__lock(&queue->lock);
  deliver(queue, job, status);
  if (--queue->in_flight == 0) tn__wake_all(&queue->settled);
  tn__unlock(&queue->lock);
}

static void finish_later(void *data, tn_xla_error_t *error) {
  tn_xla_job_t *job = data;
  finish(job, tn__xla_call_finish(job->call, error));
}

static void run(void *data) {
  tn_xla_job_t *job = data;
  int32_t status = TN_OK;
  if (job->kind == TN_XLA_JOB_UNTYPED)
    finish(job, tn_xla_execute_untyped(job->call));
  else if (job->kind == TN_XLA_JOB_BATCH)
    finish(job, tn_xla_execute_batch(job->call));
  else if (tn__xla_call_start(job->call, finish_later, job, &status))
    finish(job, status);
}

/* Adds a job, which is counted by `*counter` of its queue. */
static int32_t add_job(const tn_xla_job_t *like, size_t *counter, tn_xla_job_t **out) {
  tn_xla_job_t *job = malloc(sizeof *job);
  if (job == NULL) return tn__fail(TN_OUT_OF_MEMORY, "out of memory: cannot allocate a job");
  *job = *like;
  tn__lock(&job->queue->lock);
  ++*counter;
  tn__unlock(&job->queue->lock);
  *out = job;
  return TN_OK;
}

static void drop_job(tn_xla_job_t *job) {
  tn_xla_async_t *queue = job->queue;
  free(job);
  tn__lock(&queue->lock);
  if (--queue->in_flight == 0) tn__wake_all(&queue->settled);
  tn__unlock(&queue->lock);
}

int32_t tn_xla_async_submit(tn_xla_async_t *queue, void *call, int32_t kind, int64_t id, tn_xla_job_t **out) {
  TN_REQUIRE(queue != NULL && call != NULL && out != NULL && kind >= TN_XLA_JOB_UNTYPED && kind <= TN_XLA_JOB_BATCH,
             "queue, call and out must not be null, and kind must be TN_XLA_JOB_*");
  tn_xla_job_t *job;
  TN_TRY(add_job(&(tn_xla_job_t){NULL, queue, call, id, kind, TN_OK}, &queue->in_flight, &job));
  *out = job;
  if (tn__xla_pool_add(&tn__xla_calls, run, job)) return TN_OK;
  drop_job(job);
  return tn__fail(TN_OUT_OF_MEMORY, "no memory or no thread for a call");
}

int32_t tn_xla_async_expect(tn_xla_async_t *queue, int64_t id, tn_xla_job_t **out) {
  TN_REQUIRE(queue != NULL && out != NULL, "queue and out must not be null");
  return add_job(&(tn_xla_job_t){.queue = queue, .id = id}, &queue->expected, out);
}

/* Removes an expected event. The lock is held, and released here. */
static void expect_less(tn_xla_async_t *queue) {
  const int is_last = --queue->expected == 0 && queue->closed && !queue->has_hook;
  tn__unlock(&queue->lock);
  if (is_last) free_queue(queue);
}

void tn_xla_async_arrive(void *data) {
  tn_xla_job_t *job = data;
  if (job == NULL) return;
  tn_xla_async_t *queue = job->queue;
  tn__lock(&queue->lock);
  if (queue->closed)
    free(job);
  else
    deliver(queue, job, TN_OK);
  expect_less(queue);
}

void tn_xla_async_forget(tn_xla_job_t *job) {
  if (job == NULL) return;
  tn_xla_async_t *queue = job->queue;
  free(job);
  tn__lock(&queue->lock);
  expect_less(queue);
}

int32_t tn_xla_async_cancel(tn_xla_job_t *job) {
  TN_REQUIRE(job != NULL, "job must not be null");
  if (!tn__xla_pool_remove(&tn__xla_calls, job)) return tn__fail(TN_NOT_FOUND, "the call has already started");
  drop_job(job);
  return TN_OK;
}

int32_t tn_xla_async_take(tn_xla_async_t *queue, int64_t *ids, int32_t *statuses, size_t capacity, size_t *count) {
  TN_REQUIRE(queue != NULL && ids != NULL && statuses != NULL && count != NULL,
             "queue, ids, statuses and count must not be null");
  size_t taken = 0;
  tn__lock(&queue->lock);
  tn__event_clear(&queue->event);
  while (queue->first != NULL && taken < capacity) {
    tn_xla_job_t *job = queue->first;
    queue->first = job->next;
    if (queue->first == NULL) queue->last = &queue->first;
    ids[taken] = job->id;
    statuses[taken++] = job->status;
    free(job);
  }
  if (queue->first != NULL) tn__event_signal(&queue->event);
  tn__unlock(&queue->lock);
  *count = taken;
  return TN_OK;
}

/* Waits for the last run, which writes to memory of JavaScript, but not for expected events, which may never happen. */
static void close_queue(tn_xla_async_t *queue, int is_end_of_thread) {
  tn__lock(&queue->lock);
  while (queue->in_flight > 0) tn__wait(&queue->settled, &queue->lock);
  queue->closed = 1;
  if (is_end_of_thread) queue->has_hook = 0;
  const int is_free = queue->expected == 0 && !queue->has_hook;
  tn__unlock(&queue->lock);
  if (is_free) free_queue(queue);
}

void tn_xla_async_close(tn_xla_async_t *queue) {
  if (queue != NULL) close_queue(queue, 0);
}

/* A worker that is terminated does not close its queue. */
static void end_thread(void *queue) { close_queue(queue, 1); }
