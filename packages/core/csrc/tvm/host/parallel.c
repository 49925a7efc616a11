/* Parallel launches: a pool of threads that sleep between launches. One launch at a time. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "backend.h"
#include "host.h"

#define THREAD_LIMIT 256

typedef struct {
  FTVMParallelLambda task;
  void *closure_data;
  TVMParallelGroupEnv env;
  int32_t unstarted, unfinished; /* under the mutex */
  TVMFFIObjectHandle error;      /* the first one, one reference; under the mutex */
  bool failed;
  atomic_int arrived, passed; /* the barrier */
} launch_t;

static pthread_mutex_t one_launch = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static pthread_cond_t finished = PTHREAD_COND_INITIALIZER;
static launch_t *current; /* the launch whose tasks are to be taken */
static int32_t thread_count;
static _Thread_local bool inside_task;

static void run_task(launch_t *launch, int32_t id) {
  inside_task = true;
  int status = launch->task(id, &launch->env, launch->closure_data);
  inside_task = false;
  TVMFFIObjectHandle error = NULL;
  if (status != 0) tn__ffi.TVMFFIErrorMoveFromRaised(&error);
  pthread_mutex_lock(&mutex);
  TVMFFIObjectHandle surplus = error;
  if (status != 0 && !launch->failed) {
    launch->failed = true;
    launch->error = error;
    surplus = NULL;
  }
  if (--launch->unfinished == 0) pthread_cond_broadcast(&finished);
  pthread_mutex_unlock(&mutex);
  if (surplus != NULL) tn__ffi.TVMFFIObjectDecRef(surplus);
}

static void *work_for_ever(void *unused) {
  (void)unused;
  for (;;) {
    pthread_mutex_lock(&mutex);
    while (current == NULL || current->unstarted == 0) pthread_cond_wait(&work, &mutex);
    launch_t *launch = current;
    int32_t id = launch->unstarted--;
    pthread_mutex_unlock(&mutex);
    run_task(launch, id);
  }
  return NULL;
}

/* Starts threads until there are `wanted`; returns how many there are. */
static int32_t start_threads(int32_t wanted) {
  while (thread_count < wanted) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work_for_ever, NULL) != 0) break;
    pthread_detach(thread);
    thread_count++;
  }
  return thread_count;
}

/* As many as the environment says, or processors. */
static int32_t default_tasks(void) {
  const char *names[] = {"TVM_NUM_THREADS", "OMP_NUM_THREADS"};
  for (int i = 0; i < 2; i++) {
    const char *text = getenv(names[i]);
    long count = text == NULL ? 0 : strtol(text, NULL, 10);
    if (count > 0) return count < THREAD_LIMIT ? (int32_t)count : THREAD_LIMIT;
  }
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  return processors < 1 ? 1 : processors < THREAD_LIMIT ? (int32_t)processors : THREAD_LIMIT;
}

int TVMBackendParallelLaunch(FTVMParallelLambda task, void *closure_data, int num_task) {
  if (num_task < 0 || num_task > THREAD_LIMIT)
    return tn__packed_raise("ValueError", "a parallel launch can have 256 tasks at most");
  if (inside_task && num_task > 1)
    return tn__packed_raise("RuntimeError", "a parallel launch inside a task of another can't have several tasks");
  int32_t count = inside_task ? 1 : num_task == 0 ? default_tasks() : num_task;
  launch_t launch = {.task = task, .closure_data = closure_data, .env = {NULL, count}, .unfinished = count};
  launch.env.sync_handle = &launch;
  if (count == 1) {
    bool outer = inside_task;
    inside_task = true;
    int status = task(0, &launch.env, closure_data);
    inside_task = outer;
    return status;
  }
  pthread_mutex_lock(&one_launch);
  /* A barrier waits for all tasks, so each needs a thread of its own. */
  if (start_threads(count - 1) < count - 1) {
    pthread_mutex_unlock(&one_launch);
    return tn__packed_raise("RuntimeError", "the system has no more threads for a parallel launch");
  }
  pthread_mutex_lock(&mutex);
  launch.unstarted = count - 1;
  current = &launch;
  pthread_cond_broadcast(&work);
  pthread_mutex_unlock(&mutex);
  run_task(&launch, 0);
  pthread_mutex_lock(&mutex);
  while (launch.unfinished > 0) pthread_cond_wait(&finished, &mutex);
  current = NULL;
  pthread_mutex_unlock(&mutex);
  pthread_mutex_unlock(&one_launch);
  if (!launch.failed) return 0;
  if (launch.error != NULL) {
    tn__ffi.TVMFFIErrorSetRaised(launch.error);
    tn__ffi.TVMFFIObjectDecRef(launch.error);
  }
  return -1;
}

int TVMBackendParallelBarrier(int task_id, TVMParallelGroupEnv *env) {
  (void)task_id;
  launch_t *launch = env->sync_handle;
  int round = atomic_load(&launch->passed);
  if (atomic_fetch_add(&launch->arrived, 1) + 1 == env->num_task) {
    atomic_store(&launch->arrived, 0);
    atomic_fetch_add(&launch->passed, 1);
    return 0;
  }
  while (atomic_load(&launch->passed) == round) sched_yield();
  return 0;
}
