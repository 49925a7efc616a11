/* Calls on another thread. A job holds copies of the arguments, and then the result or the error. */
#include <stdlib.h>

#include "error.h"
#include "guarded.h"
#include "result.h"

struct tn_packed_job {
  tn_job_t job; /* the first member */
  tn_completion_t completion;
  TVMFFIObject *function; /* retained */
  atomic_int cancelled;
  int32_t type_index; /* of the result; -1 if the call failed */
  int32_t count;
  TVMFFIAny frame[]; /* the result, copies of the arguments, which the function may overwrite, and the arguments: owned */
};

/* The job that the calling thread runs: a kernel that checks for interruption checks whether this job was cancelled. */
static _Thread_local tn_packed_job_t *current;

static int is_cancelled(void) { return current != NULL && atomic_load(&current->cancelled); }
static void *enter(void) { return NULL; }
static void leave(void *state) { (void)state; }

int32_t tn_packed_install_signals(void) {
  int status = tn__ffi.TVMFFIEnvRegisterCAPI("PyGILState_Ensure", (void *)(uintptr_t)enter);
  if (status == 0) status = tn__ffi.TVMFFIEnvRegisterCAPI("PyGILState_Release", (void *)(uintptr_t)leave);
  if (status == 0) status = tn__ffi.TVMFFIEnvRegisterCAPI("PyErr_CheckSignals", (void *)(uintptr_t)is_cancelled);
  return status == 0 ? TN_OK : TN_UNSUPPORTED;
}

static void free_job(tn_packed_job_t *job) {
  tn_packed_clear(&job->frame[0]);
  tn_packed_clear_owned(&job->frame[1 + job->count], (size_t)job->count);
  tn__ffi.TVMFFIObjectDecRef(job->function);
  free(job);
}

static void removed(tn_job_t *job) { free_job((tn_packed_job_t *)(void *)job); }

/* JavaScript takes the result with tn_packed_job_finish(), unless it has ended. */
static void finish(tn_completion_t *completion, tn_call_frame_t *frame) {
  if (frame == NULL) free_job((tn_packed_job_t *)(void *)((char *)completion - offsetof(tn_packed_job_t, completion)));
}

static void run(tn_job_t *pooled) {
  tn_packed_job_t *job = (tn_packed_job_t *)(void *)pooled;
  current = job;
  tn_environment_for_job(job->completion.id);
  const int status = tn__guarded_call(job->function, job->frame + 1, job->count, job->frame);
  if (status == 0) tn__ffi_drop_raised();
  job->type_index = status == 0 && tn__check_result(&job->frame[0]) == 0 ? job->frame[0].type_index
                                                                        : tn__take_error(&job->frame[0]);
  current = NULL;
  tn_environment_for_job(0);
  tn_completion_post(job->job.owner, &job->completion);
}

static void ended(tn_job_t *pooled) {
  tn_packed_job_t *job = (tn_packed_job_t *)(void *)pooled;
  /* The result that the function has stored is not valid. */
  job->type_index = tn__packed_fail(&job->frame[0], "RuntimeError", "pthread_exit() ended the thread of the call");
  tn_completion_post(job->job.owner, &job->completion);
}

int32_t tn_packed_job_create(TVMFFIObject *function, TVMFFIAny *frame, int32_t count) {
  tn_packed_job_t *job = calloc(1, sizeof *job + (2 * (size_t)count + 1) * sizeof(TVMFFIAny));
  if (job == NULL) return tn__packed_fail(frame, "MemoryError", "out of memory for a call");
  for (int32_t i = 1; i <= count; i++) {
    /* Some versions of tvm-ffi copy the pointer instead of refusing it. */
    if (frame[i].type_index == kTVMFFIDLTensorPtr) {
      tn__packed_raise("RuntimeError", "a DLTensor* is borrowed: it cannot be passed to a call on another thread");
    } else if (tn__ffi.TVMFFIAnyViewToOwnedAny(&frame[i], &job->frame[count + i]) == 0) {
      job->frame[i] = job->frame[count + i];
      continue;
    }
    while (--i > 0) tn_packed_clear(&job->frame[count + i]);
    free(job);
    return tn__take_error(frame);
  }
  tn__ffi.TVMFFIObjectIncRef(function);
  job->function = function;
  job->count = count;
  *frame = (TVMFFIAny){.type_index = kTVMFFIOpaquePtr, .v_ptr = job};
  return 0;
}

int32_t tn_packed_job_submit(tn_packed_job_t *job, uint64_t id, TVMFFIAny *slot) {
  job->job = (tn_job_t){.owner = tn_environment_id(), .run = run, .removed = removed, .ended = ended};
  job->completion = (tn_completion_t){.id = id, .finish = finish};
  if (tn_jobs_add(TN_JOBS_CALLS, &job->job) == TN_OK) return 0;
  free_job(job);
  return tn__packed_fail(slot, "RuntimeError", tn_last_error());
}

void tn_packed_job_cancel(tn_packed_job_t *job) { atomic_store(&job->cancelled, 1); }

int32_t tn_packed_job_finish(tn_packed_job_t *job, TVMFFIAny *slot) {
  int32_t type_index = job->type_index;
  *slot = job->frame[0];
  job->frame[0] = (TVMFFIAny){.type_index = kTVMFFINone};
  free_job(job);
  return type_index;
}
