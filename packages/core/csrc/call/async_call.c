/* Calls of native functions on threads of the pool. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/direction_flag.h"
#include "environment.h"

/* The copy of a frame is as large as the call needs. */
typedef struct {
  tn_job_t job;               /* first */
  tn_completion_t completion;
  char message[1024];         /* of the failure: as long as the last error may be */
  bool is_refused;            /* a callback did not run */
  tn_call_frame_t *frame;
} async_call_t;

/* The call that runs on this thread. */
static _Thread_local async_call_t *running;

static void free_call(async_call_t *call) {
  free(call->frame);
  free(call);
}

static async_call_t *call_of(tn_completion_t *completion) {
  return (async_call_t *)((char *)completion - offsetof(async_call_t, completion));
}

/* Passes the results to the frame of JavaScript. */
static void finish(tn_completion_t *completion, tn_call_frame_t *frame) {
  async_call_t *call = call_of(completion);
  if (frame != NULL) {
    memcpy(frame->results, call->frame->results, sizeof frame->results);
    memcpy(frame->vector_results, call->frame->vector_results, sizeof frame->vector_results);
    frame->integers[2] = (uint64_t)(int64_t)call->frame->error_number;
    if (completion->status != TN_CALL_RETURNED) tn__fail(TN_EXCEPTION, "%s", call->message);
  }
  free_call(call);
}

static void keep_message(async_call_t *call) { memcpy(call->message, tn_last_error(), strlen(tn_last_error()) + 1); }

void tn__async_call_refuse(void) {
  if (running == NULL || running->is_refused) return;
  running->is_refused = true;
  keep_message(running);
}

static void run(tn_job_t *job) {
  async_call_t *call = running = (async_call_t *)job;
  tn_environment_for_job(call->completion.id);
  const uint32_t state = tn__perform(call->frame);
  tn__direction_clear();
  tn_environment_for_job(0);
  running = NULL;
  if (state != TN_CALL_RETURNED) keep_message(call);
  call->completion.status = (int32_t)(state == TN_CALL_RETURNED && call->is_refused ? TN_CALL_REFUSED : state);
  tn_completion_post(job->owner, &call->completion);
}

static void ended(tn_job_t *job) {
  async_call_t *call = (async_call_t *)job;
  snprintf(call->message, sizeof call->message, "pthread_exit() ended the thread of the call");
  call->completion.status = TN_CALL_ENDED;
  tn_completion_post(job->owner, &call->completion);
}

static void removed(tn_job_t *job) { free_call((async_call_t *)job); }

int32_t tn_call_submit(uint64_t id) {
  const tn_environment_t *environment = tn_environment_current();
  if (environment == NULL) return tn__fail(TN_CLOSED, "this thread has no environment");
  const tn_call_frame_t *frame = environment->frame;
  const size_t size = frame->flags & TN_CALL_COPIES ? sizeof *frame : offsetof(tn_call_frame_t, stack) + frame->stack_size;
  async_call_t *call = calloc(1, sizeof *call);
  if (call == NULL || (call->frame = malloc(size)) == NULL) {
    free(call);
    return tn__fail(TN_OUT_OF_MEMORY, "out of memory: cannot allocate a call");
  }
  memcpy(call->frame, frame, size);
  call->job = (tn_job_t){.owner = environment->id, .run = run, .removed = removed, .ended = ended};
  call->completion = (tn_completion_t){.id = id, .finish = finish};
  const int32_t status = tn_jobs_add(TN_JOBS_CALLS, &call->job);
  if (status != TN_OK) free_call(call);
  return status;
}
