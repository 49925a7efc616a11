/* The threads that handlers may give tasks to. They start when they are first needed and stay for the process. */
#include <stdlib.h>

#include "lock.h"
#include "xla_internal.h"

#define MOST_THREADS 64

typedef struct task {
  struct task *next;
  void (*run)(void *data);
  void *data;
} task_t;

static tn__lock_t lock = TN__LOCK;
static tn__condition_t arrived = TN__CONDITION;
static task_t *first;
static task_t **last = &first;
static size_t waiting; /* tasks that no thread has taken yet */
static size_t idle;    /* threads that wait for one */
static size_t threads;

static void work(void) {
  tn__lock(&lock);
  for (;;) {
    while (first == NULL) {
      idle++;
      tn__wait(&arrived, &lock);
      idle--;
    }
    task_t *task = first;
    first = task->next;
    if (first == NULL) last = &first;
    waiting--;
    tn__unlock(&lock);
    task->run(task->data);
    free(task);
    tn__lock(&lock);
  }
}

static const tn__thread_t worker = {work};

size_t tn__xla_pool_size(void) {
  const size_t count = tn__processor_count();
  return count < MOST_THREADS ? count : MOST_THREADS;
}

int tn__xla_pool_add(void (*run)(void *data), void *data) {
  task_t *task = malloc(sizeof *task);
  if (task == NULL) return 0;
  *task = (task_t){NULL, run, data};
  tn__lock(&lock);
  if (idle <= waiting && threads < tn__xla_pool_size() && tn__thread_start(&worker)) threads++;
  if (threads == 0) {
    tn__unlock(&lock);
    free(task);
    return 0;
  }
  *last = task;
  last = &task->next;
  waiting++;
  tn__wake_all(&arrived);
  tn__unlock(&lock);
  return 1;
}
