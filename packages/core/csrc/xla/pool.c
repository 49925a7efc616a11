/* Thread pools. Tasks of handlers and calls have separate pools, so that a call can wait for its tasks. Threads start
 * when they are first needed and run until the process ends. */
#include <stdatomic.h>
#include <stdlib.h>

#include "internal.h"

#define MOST_THREADS 64

struct tn__xla_task {
  tn__xla_task_t *next;
  void (*run)(void *data);
  void *data;
};

static void work(void *data);

#define POOL(name) {.lock = TN__LOCK, .arrived = TN__CONDITION, .end = &name.first, .thread = {work, &name}}

tn__xla_pool_t tn__xla_tasks = POOL(tn__xla_tasks);
tn__xla_pool_t tn__xla_calls = POOL(tn__xla_calls);

/* Removes the task at `place` from the queue. The lock is held. */
static tn__xla_task_t *take(tn__xla_pool_t *pool, tn__xla_task_t **place) {
  tn__xla_task_t *task = *place;
  *place = task->next;
  if (pool->end == &task->next) pool->end = place;
  pool->waiting--;
  return task;
}

static void work(void *data) {
  tn__xla_pool_t *pool = data;
  tn__lock(&pool->lock);
  for (;;) {
    while (pool->first == NULL) {
      pool->idle++;
      tn__wait(&pool->arrived, &pool->lock);
      pool->idle--;
    }
    tn__xla_task_t *task = take(pool, &pool->first);
    tn__unlock(&pool->lock);
    task->run(task->data);
    free(task);
    tn__lock(&pool->lock);
  }
}

size_t tn__xla_pool_size(void) {
  static atomic_size_t size;
  size_t known = atomic_load_explicit(&size, memory_order_relaxed);
  if (known != 0) return known;
  /* The result is kept, because the system reads files to count processors. */
  known = tn__processor_count();
  if (known > MOST_THREADS) known = MOST_THREADS;
  atomic_store_explicit(&size, known, memory_order_relaxed);
  return known;
}

int tn__xla_pool_add(tn__xla_pool_t *pool, void (*run)(void *data), void *data) {
  tn__xla_task_t *task = malloc(sizeof *task);
  if (task == NULL) return 0;
  *task = (tn__xla_task_t){NULL, run, data};
  tn__lock(&pool->lock);
  if (pool->idle <= pool->waiting && pool->threads < tn__xla_pool_size() && tn__thread_start(&pool->thread))
    pool->threads++;
  if (pool->threads == 0) {
    tn__unlock(&pool->lock);
    free(task);
    return 0;
  }
  *pool->end = task;
  pool->end = &task->next;
  pool->waiting++;
  /* With more tasks than idle threads, all threads have been woken already. */
  if (pool->waiting <= pool->idle) tn__wake_one(&pool->arrived);
  tn__unlock(&pool->lock);
  return 1;
}

int tn__xla_pool_remove(tn__xla_pool_t *pool, const void *data) {
  tn__lock(&pool->lock);
  tn__xla_task_t **place = &pool->first;
  while (*place != NULL && (*place)->data != data) place = &(*place)->next;
  tn__xla_task_t *task = *place == NULL ? NULL : take(pool, place);
  tn__unlock(&pool->lock);
  free(task);
  return task != NULL;
}
