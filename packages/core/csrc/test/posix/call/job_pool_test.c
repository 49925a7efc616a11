/* job_pool.c with pools of its own, whose threads end soon: order, threads, removal, waiting, lost wake-ups. */
#include "base/thread.h"
#include "call/job_pool.h"

#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "call/thread_limit.h"
#include "check.h"
#include "thread.h"

enum { IDLE_MS = 30, PATIENCE_MS = 20000 };

typedef struct {
  tn_job_t job;
  int index;
} item_t;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int started, finished, removed, gate_is_open;
static int order[1000];

static void reset(void) {
  pthread_mutex_lock(&mutex);
  started = finished = removed = gate_is_open = 0;
  pthread_mutex_unlock(&mutex);
}

static void add_one(int *counter) {
  pthread_mutex_lock(&mutex);
  ++*counter;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
}

static void wait_for(const int *counter, int least) {
  pthread_mutex_lock(&mutex);
  while (*counter < least) pthread_cond_wait(&changed, &mutex);
  pthread_mutex_unlock(&mutex);
}

static size_t threads_of(tn__job_pool_t *pool, int queue) {
  tn__lock(&pool->lock);
  const size_t threads = pool->queues[queue].threads;
  tn__unlock(&pool->lock);
  return threads;
}

/* Whether all threads of a pool end without further jobs. */
static bool all_threads_end(tn__job_pool_t *pool) {
  const uint64_t deadline = tn__now_ms() + PATIENCE_MS;
  while (threads_of(pool, 0) + threads_of(pool, 1) > 0) {
    if (tn__now_ms() > deadline) return false;
    sleep_ms(1);
  }
  return true;
}

static bool add(tn__job_pool_t *pool, int32_t queue, size_t limit, item_t *item, void (*run)(tn_job_t *)) {
  item->job.run = run;
  return tn__job_pool_add(pool, queue, limit, &item->job) != 0;
}

static void note_order(tn_job_t *job) {
  const int index = ((item_t *)job)->index;
  pthread_mutex_lock(&mutex);
  order[finished++] = index;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
}

static void count(tn_job_t *job) {
  (void)job;
  add_one(&finished);
}

static void wait_at_gate(tn_job_t *job) {
  (void)job;
  add_one(&started);
  wait_for(&gate_is_open, 1);
  add_one(&finished);
}

static void count_removed(tn_job_t *job) {
  (void)job;
  add_one(&removed);
}

TEST(jobs_begin_in_the_order_in_which_they_were_added) {
  enum { JOBS = 1000 };
  static tn__job_pool_t pool = TN__JOB_POOL(pool, IDLE_MS);
  static item_t items[JOBS];
  reset();
  for (int i = 0; i < JOBS; i++) {
    items[i].index = i;
    CHECK(add(&pool, 0, 1, &items[i], note_order));
  }
  CHECK(tn__job_pool_wait(&pool, TN__JOBS_OF_ALL, UINT64_MAX));
  CHECK(finished == JOBS);
  for (int i = 0; i < JOBS; i++) CHECK(order[i] == i);
  CHECK(all_threads_end(&pool));
}

TEST(threads_start_on_demand_and_end_without_work) {
  enum { LIMIT = 8 };
  static tn__job_pool_t pool = TN__JOB_POOL(pool, IDLE_MS);
  static item_t items[LIMIT * 2];
  for (int round = 0; round < 3; round++) {
    reset();
    CHECK(threads_of(&pool, 0) == 0);
    for (int i = 0; i < LIMIT * 2; i++) {
      CHECK(add(&pool, 0, LIMIT, &items[i], wait_at_gate));
      CHECK(threads_of(&pool, 0) == (size_t)(i < LIMIT ? i + 1 : LIMIT));
    }
    wait_for(&started, LIMIT);
    size_t running, waiting;
    tn__job_pool_count(&pool, &running, &waiting);
    CHECK(running == LIMIT && waiting == LIMIT);
    add_one(&gate_is_open);
    wait_for(&finished, LIMIT * 2);
    CHECK(all_threads_end(&pool));
  }
}

TEST(an_idle_thread_takes_the_next_job) {
  enum { JOBS = 200 };
  static tn__job_pool_t pool = TN__JOB_POOL(pool, PATIENCE_MS);
  static item_t items[JOBS];
  reset();
  for (int i = 0; i < JOBS; i++) {
    CHECK(add(&pool, 0, 64, &items[i], count));
    wait_for(&finished, i + 1);
    /* The job is not running any more, so its thread is about to be idle. */
    CHECK(tn__job_pool_wait(&pool, TN__JOBS_OF_ALL, UINT64_MAX));
    while (true) {
      tn__lock(&pool.lock);
      const bool is_idle = pool.queues[0].idle == pool.queues[0].threads;
      tn__unlock(&pool.lock);
      if (is_idle) break;
      sleep_ms(1);
    }
  }
  CHECK(threads_of(&pool, 0) == 1);
}

enum { MEETING = 64 };

static atomic_int arrived;

/* Waits for all jobs. */
static void meet(tn_job_t *job) {
  (void)job;
  atomic_fetch_add(&arrived, 1);
  while (atomic_load(&arrived) < MEETING * 2) sleep_ms(1);
  add_one(&finished);
}

TEST(as_many_jobs_as_threads_can_wait_for_each_other) {
  static tn__job_pool_t pool = TN__JOB_POOL(pool, IDLE_MS);
  static item_t items[2][MEETING];
  for (int round = 0; round < 20; round++) {
    reset();
    atomic_store(&arrived, 0);
    for (int i = 0; i < MEETING * 2; i++) CHECK(add(&pool, i % 2, MEETING, &items[i % 2][i / 2], meet));
    wait_for(&finished, MEETING * 2);
  }
  CHECK(all_threads_end(&pool));
}

TEST(a_call_can_wait_for_its_tasks_with_one_thread_for_each_queue) {
  static tn__job_pool_t pool = TN__JOB_POOL(pool, IDLE_MS);
  static item_t call, task;
  reset();
  CHECK(add(&pool, 0, 1, &call, wait_at_gate));
  wait_for(&started, 1);
  CHECK(add(&pool, 1, 1, &task, count));
  wait_for(&finished, 1);
  add_one(&gate_is_open);
  wait_for(&finished, 2);
  CHECK(all_threads_end(&pool));
}

TEST(a_job_that_has_not_begun_can_be_removed) {
  static tn__job_pool_t pool = TN__JOB_POOL(pool, IDLE_MS);
  static item_t items[5];
  reset();
  CHECK(add(&pool, 0, 1, &items[0], wait_at_gate));
  wait_for(&started, 1);
  for (int i = 1; i < 5; i++) {
    items[i].index = i;
    CHECK(add(&pool, 0, 1, &items[i], note_order));
  }
  CHECK(!tn__job_pool_remove(&pool, &items[0].job));
  CHECK(tn__job_pool_remove(&pool, &items[2].job)); /* in the middle, at the end, at the start */
  CHECK(tn__job_pool_remove(&pool, &items[4].job));
  CHECK(tn__job_pool_remove(&pool, &items[1].job));
  CHECK(!tn__job_pool_remove(&pool, &items[1].job));
  add_one(&gate_is_open);
  wait_for(&finished, 2);
  CHECK(order[1] == 3); /* the place 0 is that of the first job */
  CHECK(tn__job_pool_wait(&pool, TN__JOBS_OF_ALL, UINT64_MAX) && finished == 2);
  /* A job that was removed can be added again. */
  CHECK(add(&pool, 0, 1, &items[1], count));
  wait_for(&finished, 3);
  CHECK(all_threads_end(&pool));
}

TEST(the_queued_jobs_of_an_owner_are_removed) {
  enum { JOBS = 30 };
  static tn__job_pool_t pool = TN__JOB_POOL(pool, IDLE_MS);
  static item_t items[JOBS], first, task;
  reset();
  first.job.owner = 1;
  CHECK(add(&pool, 0, 1, &first, wait_at_gate));
  wait_for(&started, 1);
  for (int i = 0; i < JOBS; i++) {
    items[i].job.owner = (uint64_t)(1 + i % 3);
    items[i].job.removed = i < 20 ? count_removed : NULL;
    CHECK(add(&pool, 0, 1, &items[i], count));
  }
  tn__job_pool_remove_all(&pool, 0, 1);
  CHECK(removed == 7);
  tn__job_pool_remove_all(&pool, 0, 1);
  CHECK(removed == 7);
  task.job.owner = 2;
  CHECK(add(&pool, 1, 1, &task, count));
  wait_for(&finished, 1);
  CHECK(!tn__job_pool_wait(&pool, 1, tn__now_ms() + 5)); /* its first job has begun */
  add_one(&gate_is_open);
  CHECK(tn__job_pool_wait(&pool, 1, UINT64_MAX));
  CHECK(tn__job_pool_wait(&pool, TN__JOBS_OF_ALL, UINT64_MAX));
  CHECK(finished == 2 + JOBS * 2 / 3);
  tn__job_pool_remove_all(&pool, 0, TN__JOBS_OF_ALL);
  CHECK(removed == 7);
  CHECK(all_threads_end(&pool));
}

TEST(waiting_for_an_owner_lasts_until_its_work_has_ended) {
  static tn__job_pool_t pool = TN__JOB_POOL(pool, IDLE_MS);
  static item_t call;
  tn__job_run_t work, other;
  reset();
  CHECK(tn__job_pool_wait(&pool, TN__JOBS_OF_ALL, 0));
  tn__job_pool_begin(&pool, &work, 7, "work");
  tn__job_pool_begin(&pool, &other, 8, NULL);
  char name[TN__CALL_NAME];
  bool is_later = false;
  CHECK(tn__job_pool_describe(&pool, name, &is_later) && is_later && strcmp(name, "work") == 0);
  CHECK(!tn__job_pool_wait(&pool, 7, 0) && !tn__job_pool_wait(&pool, 8, tn__now_ms() + 2));
  CHECK(tn__job_pool_wait(&pool, 9, 0));
  tn__job_pool_end(&pool, &work);
  CHECK(tn__job_pool_wait(&pool, 7, 0) && !tn__job_pool_wait(&pool, 8, 0));
  CHECK(!tn__job_pool_wait(&pool, TN__JOBS_OF_ALL, 0));
  tn__job_pool_end(&pool, &other);
  CHECK(tn__job_pool_wait(&pool, TN__JOBS_OF_ALL, 0));
  call.job.owner = 7;
  CHECK(add(&pool, 0, 1, &call, wait_at_gate));
  wait_for(&started, 1);
  CHECK(tn__job_pool_wait(&pool, 8, 0) && !tn__job_pool_wait(&pool, 7, 0));
  add_one(&gate_is_open);
  CHECK(tn__job_pool_wait(&pool, 7, UINT64_MAX) && finished == 1);
  CHECK(all_threads_end(&pool));
}

/* A pool whose only thread is at the gate, with a job of owner 2 that waits for it. */
typedef struct {
  tn__job_pool_t pool;
  item_t running, queued;
} full_pool_t;

static void *remove_one(void *full) {
  tn__job_pool_remove(&((full_pool_t *)full)->pool, &((full_pool_t *)full)->queued.job);
  return NULL;
}

static void *remove_all(void *full) {
  tn__job_pool_remove_all(&((full_pool_t *)full)->pool, 0, 2);
  return NULL;
}

TEST(a_removed_job_wakes_the_threads_that_wait_for_its_end) {
  static full_pool_t pools[] = {{.pool = TN__JOB_POOL(pools[0].pool, IDLE_MS)},
                                {.pool = TN__JOB_POOL(pools[1].pool, IDLE_MS)}};
  static void *(*const ways[])(void *) = {remove_one, remove_all};
  for (int i = 0; i < 2; i++) {
    full_pool_t *full = &pools[i];
    test_thread_t remover;
    reset();
    full->running.job.owner = 1;
    full->queued.job.owner = 2;
    CHECK(add(&full->pool, 0, 1, &full->running, wait_at_gate));
    wait_for(&started, 1);
    CHECK(add(&full->pool, 0, 1, &full->queued, count));
    /* As tn__job_pool_wait() does, but without its second look after a second. */
    tn__lock(&full->pool.lock);
    full->pool.waiters++;
    const uint64_t end = tn__now_ms() + PATIENCE_MS;
    const bool has_remover = thread_start(&remover, ways[i], full);
    if (has_remover) tn__wait_for(&full->pool.finished, &full->pool.lock, PATIENCE_MS);
    const bool is_woken = tn__now_ms() < end;
    full->pool.waiters--;
    tn__unlock(&full->pool.lock);
    CHECK(has_remover);
    thread_join(&remover);
    add_one(&gate_is_open);
    CHECK(tn__job_pool_wait(&full->pool, TN__JOBS_OF_ALL, UINT64_MAX) && finished == 1);
    CHECK(all_threads_end(&full->pool));
    CHECK(is_woken);
  }
}

static int rounding[2];

static void change_rounding(tn_job_t *job) {
  rounding[((item_t *)job)->index] = fegetround();
  fesetround(FE_DOWNWARD);
  add_one(&finished);
}

TEST(each_job_starts_with_the_default_floating_point_environment) {
  static tn__job_pool_t pool = TN__JOB_POOL(pool, PATIENCE_MS);
  static item_t items[2] = {{.index = 0}, {.index = 1}};
  reset();
  fesetround(FE_UPWARD);
  for (int i = 0; i < 2; i++) {
    CHECK(add(&pool, 0, 1, &items[i], change_rounding));
    wait_for(&finished, i + 1);
  }
  CHECK(fegetround() == FE_UPWARD);
  fesetround(FE_TONEAREST);
  CHECK(rounding[0] == FE_TONEAREST && rounding[1] == FE_TONEAREST);
}

static sigset_t mask;
static int sum;

static void use_stack(tn_job_t *job) {
  (void)job;
  volatile char large[7 << 20];
  for (size_t i = 0; i < sizeof large; i += 1024) large[i] = 1;
  for (size_t i = 0; i < sizeof large; i += 1024) sum += large[i];
  pthread_sigmask(SIG_SETMASK, NULL, &mask);
  add_one(&finished);
}

TEST(a_job_has_a_stack_of_8_MiB_and_no_signals_but_those_of_faults) {
  static tn__job_pool_t pool = TN__JOB_POOL(pool, IDLE_MS);
  static item_t item;
  sigset_t before, after;
  reset();
  sum = 0;
  pthread_sigmask(SIG_SETMASK, NULL, &before);
  CHECK(add(&pool, 0, 1, &item, use_stack));
  pthread_sigmask(SIG_SETMASK, NULL, &after);
  wait_for(&finished, 1);
  CHECK(sum == 7 << 10);
  CHECK(sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGINT) == 1 && sigismember(&mask, SIGUSR1) == 1);
  CHECK(sigismember(&mask, SIGSEGV) == 0 && sigismember(&mask, SIGBUS) == 0 && sigismember(&mask, SIGFPE) == 0);
  CHECK(sigismember(&before, SIGTERM) == sigismember(&after, SIGTERM));
  CHECK(all_threads_end(&pool));
}

/* Threads end after a millisecond without work, so that jobs often arrive while a thread is about to end. */
static tn__job_pool_t restless = TN__JOB_POOL(restless, 1);
enum { PRODUCERS = 4, ROUNDS = 1500, BURST = 3 };

static void *produce(void *data) {
  const int seed = *(const int *)data;
  static _Thread_local item_t items[BURST];
  for (int round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < BURST; i++) {
      items[i].job.owner = (uint64_t)seed;
      if (!add(&restless, (round + i) % 2, 3, &items[i], count)) check_fail(__FILE__, __LINE__, "no thread");
    }
    /* Half of the rounds remove what has not begun. */
    if (round % 2 == 0)
      for (int i = 0; i < BURST; i++)
        if (tn__job_pool_remove(&restless, &items[i].job)) add_one(&removed);
    if (!tn__job_pool_wait(&restless, (uint64_t)seed, tn__now_ms() + PATIENCE_MS))
      check_fail(__FILE__, __LINE__, "a job was not run");
    if ((round + seed) % 7 == 0) sleep_ms(1 + round % 2);
  }
  return NULL;
}

TEST(no_job_is_lost_while_threads_start_and_end) {
  static int seeds[PRODUCERS] = {1, 2, 3, 4};
  pthread_t producers[PRODUCERS];
  reset();
  for (int i = 0; i < PRODUCERS; i++) CHECK(pthread_create(&producers[i], NULL, produce, &seeds[i]) == 0);
  for (int i = 0; i < PRODUCERS; i++) pthread_join(producers[i], NULL);
  CHECK(finished + removed == PRODUCERS * ROUNDS * BURST);
  CHECK(all_threads_end(&restless));
}

TEST(TENON_THREADS_is_an_integer_from_1_to_1024) {
  CHECK(tn__thread_limit(NULL, 1) == 4 && tn__thread_limit(NULL, 4) == 4 && tn__thread_limit(NULL, 96) == 96);
  CHECK(tn__thread_limit(NULL, 5000) == 1024 && tn__thread_limit("", 12) == 12);
  CHECK(tn__thread_limit("1", 12) == 1 && tn__thread_limit("1024", 1) == 1024 && tn__thread_limit("007", 1) == 7);
  static const char *const wrong[] = {"0", "1025", "-1", "4 ", " 4", "4.0", "0x4", "four", "1e3", "18446744073709551617"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) CHECK(tn__thread_limit(wrong[i], 12) == 0);
}

#if defined(__linux__)
TEST(only_processors_that_the_process_may_use_are_counted) {
  cpu_set_t before, one;
  CHECK(sched_getaffinity(0, sizeof before, &before) == 0);
  CHECK(tn__processor_count() == (size_t)CPU_COUNT(&before));
  CPU_ZERO(&one);
  for (int i = 0; CPU_COUNT(&one) == 0; i++)
    if (CPU_ISSET(i, &before)) CPU_SET(i, &one);
  CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
  const size_t count = tn__processor_count();
  CHECK(sched_setaffinity(0, sizeof before, &before) == 0);
  CHECK(count == 1);
}
#endif
