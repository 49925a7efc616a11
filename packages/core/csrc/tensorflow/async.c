/* Calls on threads of the core. */
#include "internal.h"

#define NAME_SIZE 96

struct tn_tf_job {
  tn_job_t job; /* the first member */
  tn_completion_t completion;
  tn_tf_call_t *call;
  char name[NAME_SIZE];
};

static tn_tf_job_t *from_pool(tn_job_t *job) { return (tn_tf_job_t *)(void *)job; }

static void free_completed(tn_completion_t *completion, tn_call_frame_t *frame) {
  (void)frame;
  free((char *)completion - offsetof(tn_tf_job_t, completion));
}

static void post(tn_tf_job_t *job, int32_t status) {
  job->completion.status = status;
  tn_completion_post(job->job.owner, &job->completion);
}

static void enter(void *context) {
  tn_tf_job_t *job = context;
  job->completion.status = tn__tf_enter(job->call);
}

static void run(tn_job_t *pooled) {
  tn_tf_job_t *job = from_pool(pooled);
  tn_environment_for_job(job->completion.id);
  const int32_t status = tn_guard_call(enter, job);
  tn_environment_for_job(0);
  post(job, status == TN_OK ? job->completion.status : tn_tf_end_exception(job->call, status));
}

static void ended(tn_job_t *pooled) {
  tn_tf_job_t *job = from_pool(pooled);
  tn__tf_fail(&job->call->failure, TF_INTERNAL, "pthread_exit() ended the thread of the call");
  post(job, tn_tf_end_exception(job->call, TN_EXCEPTION));
}

static void removed(tn_job_t *pooled) { free(from_pool(pooled)); }

int32_t tn_tf_submit(tn_tf_call_t *call, int64_t id, const char *name, size_t name_length, tn_tf_job_t **out) {
  tn_tf_job_t *job = calloc(1, sizeof *job);
  if (job == NULL) return TN_OUT_OF_MEMORY;
  job->job = (tn_job_t){.owner = tn_environment_id(), .run = run, .removed = removed, .ended = ended, .name = job->name};
  job->completion = (tn_completion_t){.id = (uint64_t)id, .finish = free_completed};
  job->call = call;
  memcpy(job->name, name, name_length < NAME_SIZE ? name_length : NAME_SIZE - 1);
  *out = job;
  const int32_t status = tn_jobs_add(TN_JOBS_CALLS, &job->job);
  if (status != TN_OK) free(job);
  return status;
}

int32_t tn_tf_cancel(tn_tf_job_t *job) {
  const int32_t status = tn_jobs_remove(&job->job);
  if (status == TN_OK) free(job);
  return status;
}
