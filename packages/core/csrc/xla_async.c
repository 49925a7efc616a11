/* Calls that run on threads of the core, and are told to JavaScript when they are done. */
#include <stdlib.h>

#include "lock.h"
#include "xla_internal.h"

struct tn_xla_job {
  tn_xla_job_t *next; /* among those that are done */
  tn_xla_async_t *queue;
  void *call;
  int64_t id;
  int32_t is_typed;
  int32_t status;
};

struct tn_xla_async {
  tn__lock_t lock;
  tn__condition_t settled; /* nothing is in flight any more */
  tn__event_t event;
  tn_xla_job_t *first; /* done, in this order */
  tn_xla_job_t **last;
  size_t in_flight; /* submitted, and neither done nor cancelled */
};

int32_t tn_xla_async_open(tn_xla_async_t **out, int32_t *descriptor) {
  if (out == NULL || descriptor == NULL) return tn__fail(TN_INVALID_ARGUMENT, "out and descriptor must not be null");
  tn_xla_async_t *queue = calloc(1, sizeof *queue);
  if (queue == NULL) return tn__fail(TN_OUT_OF_MEMORY, "no memory for a queue of calls");
  const int32_t status = tn__event_open(&queue->event);
  if (status != TN_OK) {
    free(queue);
    return status;
  }
  queue->lock = (tn__lock_t)TN__LOCK;
  queue->settled = (tn__condition_t)TN__CONDITION;
  queue->last = &queue->first;
  *out = queue;
  *descriptor = queue->event.from;
  return TN_OK;
}

/* The job is done: JavaScript hears of it. Nothing of the queue is touched after the lock is released. */
static void finish(tn_xla_job_t *job, int32_t status) {
  tn_xla_async_t *queue = job->queue;
  tn__lock(&queue->lock);
  job->status = status;
  if (queue->first == NULL) tn__event_signal(&queue->event);
  *queue->last = job;
  queue->last = &job->next;
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
  if (!job->is_typed) {
    finish(job, tn_xla_execute_untyped(job->call));
  } else if (tn__xla_call_start(job->call, finish_later, job, &status)) {
    finish(job, status);
  }
}

int32_t tn_xla_async_submit(tn_xla_async_t *queue, void *call, int32_t is_typed, int64_t id, tn_xla_job_t **out) {
  if (queue == NULL || call == NULL || out == NULL)
    return tn__fail(TN_INVALID_ARGUMENT, "the queue, the call and out must not be null");
  tn_xla_job_t *job = malloc(sizeof *job);
  if (job == NULL) return tn__fail(TN_OUT_OF_MEMORY, "no memory for a call");
  *job = (tn_xla_job_t){NULL, queue, call, id, is_typed, TN_OK};
  tn__lock(&queue->lock);
  queue->in_flight++;
  tn__unlock(&queue->lock);
  *out = job;
  if (tn__xla_pool_add(&tn__xla_calls, run, job)) return TN_OK;
  tn__lock(&queue->lock);
  queue->in_flight--;
  tn__unlock(&queue->lock);
  free(job);
  return tn__fail(TN_OUT_OF_MEMORY, "no memory or no thread for a call");
}

int32_t tn_xla_async_cancel(tn_xla_job_t *job) {
  if (job == NULL) return tn__fail(TN_INVALID_ARGUMENT, "the job must not be null");
  if (!tn__xla_pool_remove(&tn__xla_calls, job)) return tn__fail(TN_NOT_FOUND, "the call has started already");
  tn_xla_async_t *queue = job->queue;
  tn__lock(&queue->lock);
  if (--queue->in_flight == 0) tn__wake_all(&queue->settled);
  tn__unlock(&queue->lock);
  free(job);
  return TN_OK;
}

int32_t tn_xla_async_take(tn_xla_async_t *queue, int64_t *ids, int32_t *statuses, size_t capacity, size_t *count) {
  if (queue == NULL || ids == NULL || statuses == NULL || count == NULL)
    return tn__fail(TN_INVALID_ARGUMENT, "the queue, ids, statuses and count must not be null");
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

void tn_xla_async_close(tn_xla_async_t *queue) {
  if (queue == NULL) return;
  tn__lock(&queue->lock);
  while (queue->in_flight > 0) tn__wait(&queue->settled, &queue->lock);
  tn_xla_job_t *job = queue->first;
  tn__unlock(&queue->lock);
  while (job != NULL) {
    tn_xla_job_t *next = job->next;
    free(job);
    job = next;
  }
  tn__event_close(&queue->event);
  free(queue);
}
