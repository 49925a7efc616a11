/* Telling TypeScript that native work on another thread is over. */
#include "environment.h"
#include "job_pool.h"

static void run(tn_message_t *message, int32_t is_closing) {
  tn_completion_t *completion = (tn_completion_t *)message;
  const uint64_t id = completion->id;
  const uint64_t begun_ns = completion->begun_ns;
  const int32_t status = completion->status;
  tn_environment_t *environment = tn_environment_current();
  /* Frees the completion. */
  completion->finish(completion, is_closing ? NULL : environment->frame);
  if (is_closing) return;
  environment->frame->integers[0] = id;
  environment->frame->integers[1] = (uint64_t)(int64_t)status;
  environment->frame->integers[7] = begun_ns;
  if (!tn__enter_script(environment, TN__FUNCTION_JOB_DONE) && environment->depth == 0)
    tn__enter_script(environment, TN__FUNCTION_REPORT_ERROR);
}

void tn_completion_post(uint64_t environment, tn_completion_t *completion) {
  completion->message.run = run;
  completion->begun_ns = tn__job_begun_ns();
  if (tn_environment_post(environment, &completion->message) != TN_OK) completion->finish(completion, NULL);
}
