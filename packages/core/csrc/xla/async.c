/* Calls that run on threads of the core, and events that native code reports to a thread of JavaScript. */
#include <stdlib.h>
#include <string.h>

#include "call/jobs.h"
#include "internal.h"

struct tn_xla_job {
  tn_job_t job; /* the first member */
  tn_completion_t completion;
  void *call;
  char name[TN__CALL_NAME];
  tn__job_run_t run; /* of a typed call, which goes on after its job when the handler returns a future */
  int32_t kind;
};

static tn_xla_job_t *from_pool(tn_job_t *job) { return (tn_xla_job_t *)(void *)job; }

static void free_completed(tn_completion_t *completion, tn_call_frame_t *frame) {
  (void)frame;
  free((char *)completion - offsetof(tn_xla_job_t, completion));
}

/* Ends a job, which must not be accessed any more. */
static void finish(tn_xla_job_t *job, int32_t status) {
  job->completion.status = status;
  tn_completion_post(job->job.owner, &job->completion);
}

static void finish_typed(tn_xla_job_t *job, int32_t status) {
  /* First, because the completion frees the job. From here on the call is not accessed. */
  tn__jobs_end(&job->run);
  finish(job, status);
}

static void finish_later(void *data, tn_xla_error_t *error) {
  tn_xla_job_t *job = data;
  finish_typed(job, tn__xla_call_finish(job->call, error));
}

/* Frees the job, or leaves it to finish_later(). */
static void run_kind(tn_xla_job_t *job) {
  int32_t status = TN_OK;
  if (job->kind == TN_XLA_JOB_UNTYPED) return finish(job, tn_xla_execute_untyped(job->call));
  if (job->kind == TN_XLA_JOB_BATCH) return finish(job, tn_xla_execute_batch(job->call));
  tn__jobs_begin(&job->run, job->job.owner, job->name);
  if (tn__xla_call_start(job->call, finish_later, job, &status)) finish_typed(job, status);
}

static void run(tn_job_t *pooled) {
  tn_xla_job_t *job = from_pool(pooled);
  tn_environment_for_job(job->completion.id);
  run_kind(job);
  tn_environment_for_job(0);
}

static void ended(tn_job_t *pooled) {
  tn_xla_job_t *job = from_pool(pooled);
  tn__fail(TN_EXCEPTION, "pthread_exit() ended the thread of the call");
  const int32_t status = tn_xla_end_exception(job->call, job->kind, TN_EXCEPTION);
  if (job->kind == TN_XLA_JOB_TYPED)
    finish_typed(job, status);
  else
    finish(job, status);
}

static void removed(tn_job_t *pooled) { free(from_pool(pooled)); }

static tn_xla_job_t *create(int64_t id) {
  tn_xla_job_t *job = calloc(1, sizeof *job);
  if (job == NULL) return NULL;
  job->job = (tn_job_t){.owner = tn_environment_id(), .run = run, .removed = removed, .ended = ended};
  job->completion = (tn_completion_t){.id = (uint64_t)id, .finish = free_completed};
  return job;
}

int32_t tn_xla_async_submit(void *call, int32_t kind, int64_t id, const char *name, size_t name_length,
                            tn_xla_job_t **out) {
  TN_REQUIRE(call != NULL && name != NULL && out != NULL && kind >= TN_XLA_JOB_UNTYPED && kind <= TN_XLA_JOB_BATCH,
             "call, name and out must not be null, and kind must be TN_XLA_JOB_*");
  tn_xla_job_t *job = create(id);
  if (job == NULL) return tn__fail(TN_OUT_OF_MEMORY, "out of memory: cannot allocate a job");
  job->call = call;
  job->kind = kind;
  memcpy(job->name, name, name_length < TN__CALL_NAME ? name_length : TN__CALL_NAME - 1);
  job->job.name = job->name;
  *out = job;
  const int32_t status = tn_jobs_add(TN_JOBS_CALLS, &job->job);
  if (status != TN_OK) free(job);
  return status;
}

int32_t tn_xla_async_cancel(tn_xla_job_t *job) {
  TN_REQUIRE(job != NULL, "job must not be null");
  TN_TRY(tn_jobs_remove(&job->job));
  free(job);
  return TN_OK;
}

int32_t tn_xla_async_expect(int64_t id, tn_xla_job_t **out) {
  TN_REQUIRE(out != NULL, "out must not be null");
  *out = create(id);
  return *out != NULL ? TN_OK : tn__fail(TN_OUT_OF_MEMORY, "out of memory: cannot allocate a job");
}

void tn_xla_async_arrive(void *job) {
  if (job != NULL) finish(job, TN_OK);
}

void tn_xla_async_forget(tn_xla_job_t *job) { free(job); }
