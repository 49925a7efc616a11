/* A pool of threads with two queues of jobs. The process has one pool (jobs.c); tests make others. */
#pragma once

#include "base/lock.h"
#include "base/thread.h"
#include "call/job_run.h"
#include "tenon_call.h"

typedef struct tn__job_queue {
  struct tn__job_pool *pool;
  tn_job_t *first, *last;
  size_t waiting;       /* jobs that no thread has taken */
  size_t idle, threads; /* threads that wait for a job, and all threads */
  tn__condition_t arrived;
  tn__thread_t thread;
} tn__job_queue_t;

/* Functions for each job. */
typedef struct {
  void *(*added)(void);         /* when it is added, on the thread that does so; the others get the result, which may be null */
  void (*begin)(void *kept);    /* before it runs */
  void (*end)(void *kept);      /* after it has run, or has ended its thread */
  void (*removed)(void *kept);  /* if it does not run */
  void (*leave)(void);          /* before a thread of the pool ends */
} tn__job_hooks_t;

typedef struct tn__job_pool {
  tn__lock_t lock;
  tn__condition_t finished; /* there is less to wait for */
  unsigned idle_ms;         /* how long a thread waits for its next job before it ends */
  size_t waiters;           /* threads in tn__job_pool_wait() */
  size_t working;           /* threads that run a job */
  int is_closed;             /* no call is accepted any more */
  const tn__job_hooks_t *hooks; /* may be null */
  tn__job_run_t *runs;
  tn__job_queue_t queues[2];
} tn__job_pool_t;

#define TN__JOB_QUEUE(pool_name, index) \
  {.pool = &(pool_name), .arrived = TN__CONDITION, .thread = {tn__job_queue_work, &(pool_name).queues[index]}}

/* Initialises a static pool of this name. */
#define TN__JOB_POOL(pool_name, idle) TN__JOB_POOL_WITH(pool_name, idle, NULL)
#define TN__JOB_POOL_WITH(pool_name, idle, hook_table)                                     \
  {.lock = TN__LOCK, .finished = TN__CONDITION, .idle_ms = (idle), .hooks = (hook_table), \
   .queues = {TN__JOB_QUEUE(pool_name, 0), TN__JOB_QUEUE(pool_name, 1)}}

/* Has the threads of all pools note when they begin a call. */
void tn__job_pool_measure(void);

/* The time of tn__now_ns() at which the call on this thread began, or 0. */
uint64_t tn__job_begun_ns(void);

/* The body of the threads of a queue. */
void tn__job_queue_work(void *queue);

/* Adds a job, and starts a thread for it if no thread is idle and the queue has fewer than `limit`. Returns 0 if the
 * queue has no thread and none could be started. */
int tn__job_pool_add(tn__job_pool_t *pool, int32_t queue, size_t limit, tn_job_t *job);
#define TN__JOB_POOL_CLOSED (-1)

/* Refuses further calls: tn__job_pool_add() returns TN__JOB_POOL_CLOSED. Tasks of calls that run are still accepted. */
void tn__job_pool_close(tn__job_pool_t *pool);

/* Returns 0 if the job is not in a queue. */
int tn__job_pool_remove(tn__job_pool_t *pool, tn_job_t *job);

/* Removes the jobs of an owner from one queue, and then calls `removed` of each on this thread. */
void tn__job_pool_remove_all(tn__job_pool_t *pool, int32_t queue, uint64_t owner);

/* Waits until nothing of an owner runs or waits for a thread. Returns 0 if `deadline_ms` of tn__now_ms() comes first. */
int tn__job_pool_wait(tn__job_pool_t *pool, uint64_t owner, uint64_t deadline_ms);

/* Mark the start and the end of work that tn__job_pool_wait() waits for although no thread of the pool does it. */
void tn__job_pool_begin(tn__job_pool_t *pool, tn__job_run_t *run, uint64_t owner, const char *name);
void tn__job_pool_end(tn__job_pool_t *pool, tn__job_run_t *run);

/* Finds work with a name that goes on, if possible work of a thread. `name` has room for TN__CALL_NAME bytes. Returns false
 * if there is none. */
bool tn__job_pool_describe(tn__job_pool_t *pool, char *name, bool *is_later);

/* Counts the jobs that run, and those that wait for a thread. */
void tn__job_pool_count(tn__job_pool_t *pool, size_t *running, size_t *waiting);
