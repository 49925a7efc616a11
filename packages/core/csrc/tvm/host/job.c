/* Calls on another thread: the arguments are copied into a job, and the result, or the error, waits in it. */
#include <stdlib.h>

#include "host.h"

typedef struct tn_packed_job {
  TVMFFIObject *function; /* one reference */
  atomic_int cancelled;
  int32_t type_index; /* of the result; -1 if the call failed */
  int32_t count;
  TVMFFIAny frame[]; /* the result, then the arguments: owned */
} tn_packed_job_t;

/* The job that the calling thread runs: what asks for interruption asks of it. */
static _Thread_local tn_packed_job_t *current;

static int is_cancelled(void) { return current != NULL && atomic_load(&current->cancelled); }
static void *enter(void) { return NULL; }
static void leave(void *state) { (void)state; }

/* Lets kernels ask whether their call was cancelled. Returns a status. */
TN_API int32_t tn_packed_install_signals(void) {
  int status = tn__ffi.TVMFFIEnvRegisterCAPI("PyGILState_Ensure", (void *)(uintptr_t)enter);
  if (status == 0) status = tn__ffi.TVMFFIEnvRegisterCAPI("PyGILState_Release", (void *)(uintptr_t)leave);
  if (status == 0) status = tn__ffi.TVMFFIEnvRegisterCAPI("PyErr_CheckSignals", (void *)(uintptr_t)is_cancelled);
  return status == 0 ? TN_OK : TN_UNSUPPORTED;
}

static void clear(TVMFFIAny *slot) {
  if (slot->type_index >= kTVMFFIStaticObjectBegin) tn__ffi.TVMFFIObjectDecRef(slot->v_obj);
  *slot = (TVMFFIAny){.type_index = kTVMFFINone};
}

/* Makes a job out of the frame at `frame` with `count` arguments, which are copied: text, references of objects. What is
 * only lent is refused. 0 and the job's address as an opaque pointer in the result's slot, or -1 with the error there. */
TN_API int32_t tn_packed_job_create(TVMFFIObject *function, TVMFFIAny *frame, int32_t count) {
  tn_packed_job_t *job = calloc(1, sizeof *job + ((size_t)count + 1) * sizeof(TVMFFIAny));
  if (job == NULL) {
    tn__packed_raise("MemoryError", "no memory for a call");
    return tn__take_error(frame);
  }
  for (int32_t i = 1; i <= count; i++) {
    /* Some versions of tvm-ffi would copy the pointer. */
    if (frame[i].type_index == kTVMFFIDLTensorPtr) {
      tn__packed_raise("RuntimeError", "a DLTensor* is only lent: a call on another thread can't have it");
    } else if (tn__ffi.TVMFFIAnyViewToOwnedAny(&frame[i], &job->frame[i]) == 0) {
      continue;
    }
    while (--i > 0) clear(&job->frame[i]);
    free(job);
    return tn__take_error(frame);
  }
  tn__ffi.TVMFFIObjectIncRef(function);
  job->function = function;
  job->count = count;
  *frame = (TVMFFIAny){.type_index = kTVMFFIOpaquePtr, .v_ptr = job};
  return 0;
}

/* Runs a job, on any thread, once. Its error is taken on that thread. */
TN_API void tn_packed_job_run(tn_packed_job_t *job) {
  tn_packed_job_t *outer = current;
  current = job;
  int status = tn__ffi.TVMFFIFunctionCall(job->function, job->frame + 1, job->count, job->frame);
  job->type_index = status == 0 ? job->frame[0].type_index : tn__take_error(&job->frame[0]);
  current = outer;
}

/* Asks the kernel of a job that runs to stop. Any thread. */
TN_API void tn_packed_job_cancel(tn_packed_job_t *job) { atomic_store(&job->cancelled, 1); }

/* Moves the result of a job that has run into a slot, and frees the job. Returns what tn_packed_call() would. */
TN_API int32_t tn_packed_job_finish(tn_packed_job_t *job, TVMFFIAny *slot) {
  int32_t type_index = job->type_index;
  *slot = job->frame[0];
  for (int32_t i = 1; i <= job->count; i++) clear(&job->frame[i]);
  tn__ffi.TVMFFIObjectDecRef(job->function);
  free(job);
  return type_index;
}
