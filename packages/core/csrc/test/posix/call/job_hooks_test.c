/* job_pool.c: the hooks of a pool, and the fate of their result for each job. */
#include <pthread.h>
#include <stdatomic.h>

#include "call/job_pool.h"
#include "check.h"
#include "thread.h"

/* Results of added(): 1, 2, ... */
static atomic_int added, begun, ended, removed, left;
static atomic_int last_begun, is_open;

static void *on_added(void) { return (void *)(uintptr_t)(atomic_fetch_add(&added, 1) + 1); }

static void on_begin(void *kept) {
  atomic_store(&last_begun, (int)(uintptr_t)kept);
  atomic_fetch_add(&begun, 1);
}

static void on_end(void *kept) {
  if ((int)(uintptr_t)kept == atomic_load(&last_begun)) atomic_fetch_add(&ended, 1);
}

static void on_removed(void *kept) { atomic_fetch_add(&removed, (int)(uintptr_t)kept); }
static void on_leave(void) { atomic_fetch_add(&left, 1); }

static const tn__job_hooks_t hooks = {on_added, on_begin, on_end, on_removed, on_leave};

static void wait_until_open(tn_job_t *job) {
  (void)job;
  while (!atomic_load(&is_open)) sleep_ms(1);
}

static void end_thread(tn_job_t *job) {
  (void)job;
  pthread_exit(NULL);
}

static bool reaches(const atomic_int *counter, int value) {
  for (const uint64_t end = tn__now_ms() + 20000; atomic_load(counter) != value; sleep_ms(1))
    if (tn__now_ms() > end) return false;
  return true;
}

TEST(a_pool_keeps_the_result_of_a_hook_for_each_job_until_it_has_run_or_is_removed) {
  static tn__job_pool_t pool = TN__JOB_POOL_WITH(pool, 1, &hooks);
  static tn_job_t jobs[5];
  for (int i = 0; i < 5; i++) {
    jobs[i] = (tn_job_t){.owner = (uint64_t)i, .run = i == 4 ? end_thread : wait_until_open};
    CHECK(tn__job_pool_add(&pool, 0, 1, &jobs[i]));
  }
  CHECK(reaches(&begun, 1) && atomic_load(&last_begun) == 1);
  CHECK(tn__job_pool_remove(&pool, &jobs[1]) && atomic_load(&removed) == 2);
  CHECK(!tn__job_pool_remove(&pool, &jobs[0]) && atomic_load(&removed) == 2);
  tn__job_pool_remove_all(&pool, 0, 2);
  CHECK(atomic_load(&removed) == 2 + 3 && atomic_load(&ended) == 0);
  atomic_store(&is_open, 1);
  /* The last job ends its thread. */
  CHECK(reaches(&ended, 3) && reaches(&left, 1) && atomic_load(&begun) == 3 && atomic_load(&last_begun) == 5);
  CHECK(tn__job_pool_add(&pool, 0, 1, &jobs[0]) && reaches(&ended, 4) && reaches(&left, 2));
  tn__job_pool_close(&pool);
  CHECK(tn__job_pool_add(&pool, TN_JOBS_CALLS, 1, &jobs[0]) == TN__JOB_POOL_CLOSED);
  CHECK(atomic_load(&removed) == 2 + 3 + 7 && atomic_load(&begun) == 4);
}
