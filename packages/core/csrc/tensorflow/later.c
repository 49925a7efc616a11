/* Asynchronous kernels, whose runs are over when they call back. */
#include "internal.h"

/* A run that waits for its callback. The kernel gets a number for it, because it may use it again when the run is over. */
typedef struct waiting {
  struct waiting *next;
  uint64_t id;
  int is_done;
} waiting_t;

static tn__lock_t lock = TN__LOCK;
static tn__condition_t changed = TN__CONDITION;
static waiting_t *all;
static uint64_t last_id;

void TF_RunAsyncOpKernelDoneCallback(TF_AsyncOpKernelDoneCallback *done) {
  tn__lock(&lock);
  for (waiting_t *one = all; one != NULL; one = one->next)
    if (one->id == (uintptr_t)done) one->is_done = 1;
  tn__wake_all(&changed);
  tn__unlock(&lock);
}

static void forget(uint64_t id) {
  waiting_t **at = &all;
  while (*at != NULL && (*at)->id != id) at = &(*at)->next;
  waiting_t *found = *at;
  if (found != NULL) *at = found->next;
  free(found);
}

void tn__tf_forget(tn_tf_call_t *call) {
  tn__lock(&lock);
  forget(call->done);
  tn__unlock(&lock);
}

void tn__tf_run_async(tn_tf_call_t *call, const tn_tf_instance_t *instance) {
  waiting_t *waiting = calloc(1, sizeof *waiting);
  if (waiting == NULL) return tn__tf_fail(&call->failure, TF_RESOURCE_EXHAUSTED, "out of memory for a callback");
  tn__lock(&lock);
  waiting->id = call->done = ++last_id;
  waiting->next = all;
  all = waiting;
  tn__unlock(&lock);
  instance->kernel->compute_async(instance->self, (TF_OpKernelContext *)(void *)call,
                                  (TF_AsyncOpKernelDoneCallback *)tn__tf_pointer(call->done));
  tn__lock(&lock);
  while (!waiting->is_done) tn__wait(&changed, &lock);
  forget(call->done);
  tn__unlock(&lock);
}
