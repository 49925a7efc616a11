/* The one pool of the process. Calls and tasks have queues of their own, so that a call can wait for its tasks. */
#include "call/jobs.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/thread.h"
#include "crash_threads.h"
#include "environment.h"
#include "job_pool.h"
#include "thread_limit.h"

#define IDLE_MS 10000

static tn__job_pool_t pool = TN__JOB_POOL_WITH(pool, IDLE_MS, &tn__crash_job_hooks);

/* 0 until it is known. A value of the environment that is not valid is read again each time. */
static atomic_size_t known_limit;

static size_t read_limit(const char *text) {
  size_t limit = atomic_load_explicit(&known_limit, memory_order_relaxed);
  if (limit != 0) return limit;
  limit = tn__thread_limit(text, tn__processor_count());
  atomic_store_explicit(&known_limit, limit, memory_order_relaxed);
  return limit;
}

int32_t tn__jobs_limit(size_t *out) {
  const char *text = getenv("TENON_THREADS");
  const size_t limit = read_limit(text);
  TN_REQUIRE(limit != 0, "TENON_THREADS must be an integer from 1 to %d, got \"%s\"", TN__MOST_THREADS, text);
  *out = limit;
  return TN_OK;
}

int32_t tn_jobs_add(int32_t queue, tn_job_t *job) {
  TN_REQUIRE(job != NULL && job->run != NULL && (queue == TN_JOBS_CALLS || queue == TN_JOBS_TASKS),
             "job and its function must not be null, and queue must be TN_JOBS_CALLS or TN_JOBS_TASKS");
  const tn_environment_t *environment = tn_environment_current();
  if (queue == TN_JOBS_CALLS && environment != NULL && environment->is_shut)
    return tn__fail(TN_CLOSED, "this thread is ending");
  size_t limit;
  TN_TRY(tn__jobs_limit(&limit));
  const int added = tn__job_pool_add(&pool, queue, limit, job);
  if (added == TN__JOB_POOL_CLOSED) return tn__fail(TN_CLOSED, "the process is ending");
  if (added) return TN_OK;
  return tn__fail(TN_OUT_OF_MEMORY, "the system could not start a thread");
}

int32_t tn_jobs_remove(tn_job_t *job) {
  TN_REQUIRE(job != NULL, "job must not be null");
  return tn__job_pool_remove(&pool, job) ? TN_OK : tn__fail(TN_NOT_FOUND, "the job has already begun");
}

void tn_jobs_counts(tn_jobs_counts_t *out) {
  size_t running, waiting;
  tn__job_pool_count(&pool, &running, &waiting);
  *out = (tn_jobs_counts_t){read_limit(getenv("TENON_THREADS")), running, waiting};
}

uint64_t tn_jobs_measure(void) {
  tn__job_pool_measure();
  return tn__now_ns();
}

void tn__jobs_remove_all(uint64_t owner) { tn__job_pool_remove_all(&pool, TN_JOBS_CALLS, owner); }

int tn__jobs_wait(uint64_t owner, uint64_t deadline_ms) { return tn__job_pool_wait(&pool, owner, deadline_ms); }

void tn__jobs_begin(tn__job_run_t *run, uint64_t owner, const char *name) {
  tn__job_pool_begin(&pool, run, owner, name);
}

void tn__jobs_end(tn__job_run_t *run) { tn__job_pool_end(&pool, run); }

void tn__jobs_close(void) { tn__job_pool_close(&pool); }

bool tn__jobs_describe(char *name, bool *is_later) { return tn__job_pool_describe(&pool, name, is_later); }
