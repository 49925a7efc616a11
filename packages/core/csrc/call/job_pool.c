#include "job_pool.h"
#include "base/thread.h"
#include "native_stack.h"
#include "thread_exit.h"

#include <fenv.h>
#include <string.h>

/* The longest wait for a condition, because a wake-up can be lost (lock.h). */
#define AGAIN_MS 1000

static int measures; /* whether threads note when they begin a call */
static _Thread_local uint64_t begun_ns;

void tn__job_pool_measure(void) { __atomic_store_n(&measures, 1, __ATOMIC_RELAXED); }

uint64_t tn__job_begun_ns(void) { return begun_ns; }

static bool is_of(uint64_t owner, uint64_t asked) { return asked == TN__JOBS_OF_ALL || owner == asked; }

/* Waits for a condition until `deadline_ms` at most. Returns false if that time has come. */
static bool wait_until(tn__condition_t *condition, tn__lock_t *lock, uint64_t deadline_ms) {
  const uint64_t now = tn__now_ms();
  if (now >= deadline_ms) return false;
  const uint64_t left = deadline_ms - now;
  tn__wait_for(condition, lock, (unsigned)(left < AGAIN_MS ? left : AGAIN_MS));
  return true;
}

/* Takes a job out of its queue. The lock is held. */
static void take(tn__job_queue_t *queue, tn_job_t *job) {
  *(job->previous == NULL ? &queue->first : &job->previous->next) = job->next;
  *(job->next == NULL ? &queue->last : &job->next->previous) = job->previous;
  job->is_waiting = 0;
  queue->waiting--;
}

static void begin(tn__job_pool_t *pool, tn__job_run_t *run, uint64_t owner, const char *name, bool is_later) {
  *run = (tn__job_run_t){.next = pool->runs, .owner = owner, .is_later = is_later};
  for (size_t i = 0; name != NULL && name[i] != 0 && i + 1 < sizeof run->name; i++) run->name[i] = name[i];
  if (pool->runs != NULL) pool->runs->previous = run;
  pool->runs = run;
}

static void end(tn__job_pool_t *pool, tn__job_run_t *run) {
  *(run->previous == NULL ? &pool->runs : &run->previous->next) = run->next;
  if (run->next != NULL) run->next->previous = run->previous;
  if (pool->waiters > 0) tn__wake_all(&pool->finished);
}

/* Returns false if the thread has waited long enough. The lock is held. */
static bool wait_for_job(tn__job_queue_t *queue) {
  tn__job_pool_t *pool = queue->pool;
  const uint64_t deadline = tn__now_ms() + pool->idle_ms;
  queue->idle++;
  while (queue->waiting == 0 && wait_until(&queue->arrived, &pool->lock, deadline)) continue;
  queue->idle--;
  return queue->waiting > 0;
}

/* A job that a thread runs. */
typedef struct {
  tn__job_queue_t *queue;
  tn_job_t *job; /* may be freed by its function */
  void (*ended)(tn_job_t *job);
  void *kept;
  tn__job_run_t run;
} work_t;

/* Runs a job below memory that nothing uses, as native code has it on its own stack. */
static void run_job(void *data) {
  const work_t *work = data;
  uint8_t room[TN__STACK_ROOM];
  __asm__ volatile("" : : "r"(room) : "memory");
  work->job->run(work->job);
  __asm__ volatile("" : : "r"(room) : "memory");
}

/* Another thread takes the place of one that a job has ended, so that jobs do not wait for ever. */
static void end_thread(void *data) {
  work_t *work = data;
  tn__job_queue_t *queue = work->queue;
  tn__job_pool_t *pool = queue->pool;
  if (work->ended != NULL) work->ended(work->job);
  if (pool->hooks != NULL) {
    pool->hooks->end(work->kept);
    pool->hooks->leave();
  }
  tn__lock(&pool->lock);
  pool->working--;
  end(pool, &work->run);
  queue->threads--;
  if (queue->waiting > queue->idle && tn__thread_start(&queue->thread)) queue->threads++;
  tn__unlock(&pool->lock);
}

void tn__job_queue_work(void *data) {
  tn__job_queue_t *queue = data;
  tn__job_pool_t *pool = queue->pool;
  tn__lock(&pool->lock);
  while (queue->waiting > 0 || wait_for_job(queue)) {
    tn_job_t *job = queue->first;
    take(queue, job);
    work_t work = {.queue = queue, .job = job, .ended = job->ended, .kept = job->kept};
    begin(pool, &work.run, job->owner, job->name, false);
    pool->working++;
    tn__unlock(&pool->lock);
    /* A thread inherits the environment of the thread that started it, and keeps what its last job has set. */
    fesetenv(FE_DFL_ENV);
    /* A task may end another call than the one that it is a part of. */
    const bool is_measured = job->queue == TN_JOBS_CALLS && __atomic_load_n(&measures, __ATOMIC_RELAXED) != 0;
    begun_ns = is_measured ? tn__now_ns() : 0;
    if (pool->hooks != NULL) pool->hooks->begin(work.kept);
    tn__run_to_end(run_job, end_thread, &work);
    if (pool->hooks != NULL) pool->hooks->end(work.kept);
    tn__lock(&pool->lock);
    pool->working--;
    end(pool, &work.run);
  }
  queue->threads--;
  tn__unlock(&pool->lock);
  if (pool->hooks != NULL) pool->hooks->leave();
}

int tn__job_pool_add(tn__job_pool_t *pool, int32_t index, size_t limit, tn_job_t *job) {
  tn__job_queue_t *queue = &pool->queues[index];
  void *kept = pool->hooks == NULL ? NULL : pool->hooks->added();
  tn__lock(&pool->lock);
  if (pool->is_closed && index == TN_JOBS_CALLS) {
    tn__unlock(&pool->lock);
    if (pool->hooks != NULL) pool->hooks->removed(kept);
    return TN__JOB_POOL_CLOSED;
  }
  /* A thread that was woken and has not taken its job yet still counts as idle, and its job as waiting. */
  if (queue->idle <= queue->waiting && queue->threads < limit && tn__thread_start(&queue->thread)) queue->threads++;
  const int has_thread = queue->threads > 0;
  if (has_thread) {
    job->next = NULL;
    job->previous = queue->last;
    *(queue->last == NULL ? &queue->first : &queue->last->next) = job;
    queue->last = job;
    job->queue = index;
    job->is_waiting = 1;
    job->kept = kept;
    queue->waiting++;
    /* If as many jobs waited as threads are idle, all of them have been woken before. */
    if (queue->waiting <= queue->idle) tn__wake_one(&queue->arrived);
  }
  tn__unlock(&pool->lock);
  if (!has_thread && pool->hooks != NULL) pool->hooks->removed(kept);
  return has_thread;
}

void tn__job_pool_close(tn__job_pool_t *pool) {
  tn__lock(&pool->lock);
  pool->is_closed = 1;
  tn__unlock(&pool->lock);
}

int tn__job_pool_remove(tn__job_pool_t *pool, tn_job_t *job) {
  tn__lock(&pool->lock);
  const int is_waiting = (int)job->is_waiting;
  if (is_waiting) take(&pool->queues[job->queue], job);
  if (is_waiting && pool->waiters > 0) tn__wake_all(&pool->finished);
  tn__unlock(&pool->lock);
  if (is_waiting && pool->hooks != NULL) pool->hooks->removed(job->kept);
  return is_waiting;
}

void tn__job_pool_remove_all(tn__job_pool_t *pool, int32_t index, uint64_t owner) {
  tn__job_queue_t *queue = &pool->queues[index];
  tn_job_t *removed = NULL, **last = &removed;
  tn__lock(&pool->lock);
  for (tn_job_t *job = queue->first, *next; job != NULL; job = next) {
    next = job->next;
    if (!is_of(job->owner, owner)) continue;
    take(queue, job);
    job->next = NULL;
    *last = job;
    last = &job->next;
  }
  if (pool->waiters > 0) tn__wake_all(&pool->finished);
  tn__unlock(&pool->lock);
  for (tn_job_t *job = removed, *next; job != NULL; job = next) {
    next = job->next;
    if (pool->hooks != NULL) pool->hooks->removed(job->kept);
    if (job->removed != NULL) job->removed(job);
  }
}

/* Whether something of an owner runs or waits for a thread. The lock is held. */
static bool has_work(const tn__job_pool_t *pool, uint64_t owner) {
  for (const tn__job_run_t *run = pool->runs; run != NULL; run = run->next)
    if (is_of(run->owner, owner)) return true;
  for (int i = 0; i < 2; i++)
    for (const tn_job_t *job = pool->queues[i].first; job != NULL; job = job->next)
      if (is_of(job->owner, owner)) return true;
  return false;
}

int tn__job_pool_wait(tn__job_pool_t *pool, uint64_t owner, uint64_t deadline_ms) {
  tn__lock(&pool->lock);
  pool->waiters++;
  bool is_busy;
  while ((is_busy = has_work(pool, owner)) && wait_until(&pool->finished, &pool->lock, deadline_ms)) continue;
  pool->waiters--;
  tn__unlock(&pool->lock);
  return !is_busy;
}

void tn__job_pool_begin(tn__job_pool_t *pool, tn__job_run_t *run, uint64_t owner, const char *name) {
  tn__lock(&pool->lock);
  begin(pool, run, owner, name, true);
  tn__unlock(&pool->lock);
}

void tn__job_pool_end(tn__job_pool_t *pool, tn__job_run_t *run) {
  tn__lock(&pool->lock);
  end(pool, run);
  tn__unlock(&pool->lock);
}

bool tn__job_pool_describe(tn__job_pool_t *pool, char *name, bool *is_later) {
  const tn__job_run_t *found = NULL;
  tn__lock(&pool->lock);
  for (const tn__job_run_t *run = pool->runs; run != NULL; run = run->next)
    if (run->name[0] != 0 && (found == NULL || found->is_later)) found = run;
  if (found != NULL) {
    memcpy(name, found->name, sizeof found->name);
    *is_later = found->is_later;
  }
  tn__unlock(&pool->lock);
  return found != NULL;
}

void tn__job_pool_count(tn__job_pool_t *pool, size_t *running, size_t *waiting) {
  tn__lock(&pool->lock);
  *running = pool->working;
  *waiting = pool->queues[0].waiting + pool->queues[1].waiting;
  tn__unlock(&pool->lock);
}
