/* jobs.c: the pool of the process. */
#include <stdint.h>

#include "check.h"
#include "tenon_call.h"
#include "thread.h"

static tn__lock_t mutex = TN__LOCK;
static tn__condition_t changed = TN__CONDITION;
static int begun, ended, gate_is_open;

static void change(int *counter, int by) {
  tn__lock(&mutex);
  *counter += by;
  tn__wake_all(&changed);
  tn__unlock(&mutex);
}

static void wait_for(const int *counter, int least) {
  tn__lock(&mutex);
  while (*counter < least) tn__wait(&changed, &mutex);
  tn__unlock(&mutex);
}

static void wait_at_gate(tn_job_t *job) {
  (void)job;
  change(&begun, 1);
  wait_for(&gate_is_open, 1);
  change(&ended, 1);
}

TEST(jobs_beyond_the_limit_of_threads_are_queued) {
  static tn_job_t calls[1024 + 3], tasks[1024 + 1];
  tn_jobs_counts_t counts;
  begun = ended = gate_is_open = 0;
  /* The last job of a test before this one may be about to end. */
  do tn_jobs_counts(&counts);
  while (counts.running > 0);
  CHECK(counts.limit >= 1 && counts.limit <= 1024 && counts.queued == 0);
  const int limit = (int)counts.limit;
  for (int i = 0; i < limit + 3; i++) {
    calls[i] = (tn_job_t){.run = wait_at_gate};
    CHECK(tn_jobs_add(TN_JOBS_CALLS, &calls[i]) == TN_OK);
  }
  for (int i = 0; i < limit + 1; i++) {
    tasks[i] = (tn_job_t){.run = wait_at_gate};
    CHECK(tn_jobs_add(TN_JOBS_TASKS, &tasks[i]) == TN_OK);
  }
  wait_for(&begun, limit * 2);
  tn_jobs_counts(&counts);
  CHECK(counts.running == (uint64_t)limit * 2 && counts.queued == 4);
  CHECK(tn_jobs_remove(&calls[0]) == TN_NOT_FOUND);
  CHECK(tn_jobs_remove(&calls[limit + 1]) == TN_OK);
  CHECK(tn_jobs_remove(&tasks[limit]) == TN_OK);
  tn_jobs_counts(&counts);
  CHECK(counts.running == (uint64_t)limit * 2 && counts.queued == 2);
  change(&gate_is_open, 1);
  wait_for(&ended, limit * 2 + 2);
  CHECK(begun == limit * 2 + 2);
}

TEST(jobs_that_are_not_valid_are_refused) {
  tn_job_t job = {.run = wait_at_gate}, none = {.run = NULL};
  CHECK(tn_jobs_add(TN_JOBS_CALLS, NULL) == TN_INVALID_ARGUMENT);
  CHECK(tn_jobs_add(TN_JOBS_CALLS, &none) == TN_INVALID_ARGUMENT);
  CHECK(tn_jobs_add(2, &job) == TN_INVALID_ARGUMENT && tn_jobs_add(-1, &job) == TN_INVALID_ARGUMENT);
  CHECK(tn_jobs_remove(NULL) == TN_INVALID_ARGUMENT);
}
