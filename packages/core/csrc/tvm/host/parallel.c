/* Parallel launches on a pool of threads, which sleep between launches. Launches of several threads run at the same time,
 * because a task of one may wait for another. */
#include <stdatomic.h>
#include <stdlib.h>

#include "base/status.h"
#include "base/lock.h"
#include "base/thread.h"
#include "error.h"
#include "guarded.h"
#include "tenon/tvm_backend.h"

#define THREAD_LIMIT 256

/* The number of times that a task checks the barrier before it sleeps, which takes a few microseconds. */
#define SPINS 2000

/* The interval at which a launching thread checks for calls of its functions. */
#define SERVE_MS 1

/* The interval at which a sleeping task checks its condition. The condition variables of glibc before 2.41 can lose
 * a wake-up when the same threads wait again at once, as they do at barriers. */
#define AGAIN_MS 10

typedef struct launch {
  FTVMParallelLambda task;
  void *closure_data;
  TVMParallelGroupEnv env;
  int32_t unstarted, unfinished, arrived; /* guarded by the lock, like the next three */
  struct launch *next;                    /* of those with tasks to start */
  TVMFFIObjectHandle error;               /* the first error, retained */
  bool failed;
  atomic_int passed; /* the number of passed barriers, written under the lock */
} launch_t;

static tn__lock_t lock = TN__LOCK;
static tn__condition_t work = TN__CONDITION;     /* there are tasks to start */
static tn__condition_t met = TN__CONDITION;      /* a barrier was passed, or a task failed */
static tn__condition_t finished = TN__CONDITION; /* the last task of a launch has ended */
static launch_t *startable, **last_startable = &startable; /* guarded by the lock, like the next two */
static int32_t thread_count;
static int32_t reserved; /* threads that the running launches need */
static _Thread_local bool inside_task;

/* Waits, under the lock. A thread that runs JavaScript meanwhile serves the calls that tasks make of its functions;
 * launches inside those calls run as part of the task. */
static void wait_and_serve(tn__condition_t *condition) {
  const bool serves = tn_environment_current() != NULL;
  tn__wait_for(condition, &lock, serves ? SERVE_MS : AGAIN_MS);
  if (startable != NULL) tn__wake_all(&work);
  if (!serves) return;
  tn__unlock(&lock);
  bool outer = inside_task;
  inside_task = true;
  tn_environment_serve();
  inside_task = outer;
  tn__lock(&lock);
}

typedef struct {
  launch_t *launch;
  int32_t id;
} task_t;

static int call_task(void *context) {
  const task_t *task = context;
  return task->launch->task(task->id, &task->launch->env, task->launch->closure_data);
}

/* Calls the function of a task. Returns its status. */
static int perform(launch_t *launch, int32_t id) {
  const bool outer = inside_task;
  inside_task = true;
  const int status = tn__guarded(call_task, &(task_t){launch, id});
  inside_task = outer;
  return status;
}

static void run_task(launch_t *launch, int32_t id) {
  const int status = perform(launch, id);
  TVMFFIObjectHandle error = NULL;
  if (status != 0)
    tn__ffi.TVMFFIErrorMoveFromRaised(&error);
  else if (id != 0)
    tn__ffi_drop_raised(); /* the thread is of the pool, so the error is that of the task */
  tn__lock(&lock);
  if (status != 0 && !launch->failed) {
    launch->failed = true;
    launch->error = error;
    error = NULL;
    tn__wake_all(&met);
  }
  tn__unlock(&lock);
  /* Released before the task counts as ended, so that nothing of a launch outlives it. */
  if (error != NULL) tn__ffi.TVMFFIObjectDecRef(error);
  tn__lock(&lock);
  if (--launch->unfinished == 0) tn__wake_all(&finished);
  tn__unlock(&lock);
}

/* Takes the next task of the first launch that has one. Under the lock. */
static int32_t take_task(launch_t **out) {
  launch_t *launch = *out = startable;
  if (launch->unstarted == 1 && (startable = launch->next) == NULL) last_startable = &startable;
  return launch->unstarted--;
}

static void work_for_ever(void *unused) {
  (void)unused;
  for (;;) {
    launch_t *launch;
    tn__lock(&lock);
    while (startable == NULL) tn__wait(&work, &lock);
    const int32_t id = take_task(&launch);
    tn__unlock(&lock);
    run_task(launch, id);
  }
}

/* Reserves threads, and starts those that are missing. Under the lock. A barrier waits for all tasks, so each task of all
 * launches needs its own thread. If the system refuses more, this waits for other launches. Returns false without any. */
static bool reserve_threads(int32_t wanted) {
  static const tn__thread_t worker = {work_for_ever, NULL};
  for (;;) {
    while (thread_count < reserved + wanted && tn__thread_start(&worker)) thread_count++;
    if (thread_count >= reserved + wanted) break;
    if (reserved == 0) return false;
    wait_and_serve(&finished);
  }
  reserved += wanted;
  return true;
}

/* Runs the first task on this thread and the others on those of the pool. Under the lock. */
static void run_launch(launch_t *launch) {
  launch->unstarted = launch->env.num_task - 1;
  *last_startable = launch;
  last_startable = &launch->next;
  tn__wake_all(&work);
  tn__unlock(&lock);
  run_task(launch, 0);
  tn__lock(&lock);
  while (launch->unfinished > 0) wait_and_serve(&finished);
  reserved -= launch->env.num_task - 1;
  tn__wake_all(&finished);
}

static int32_t default_tasks(void) {
  const char *names[] = {"TVM_NUM_THREADS", "OMP_NUM_THREADS"};
  for (int i = 0; i < 2; i++) {
    const char *text = getenv(names[i]);
    long count = text == NULL ? 0 : strtol(text, NULL, 10);
    if (count > 0) return count < THREAD_LIMIT ? (int32_t)count : THREAD_LIMIT;
  }
  size_t processors = tn__processor_count();
  return processors < THREAD_LIMIT ? (int32_t)processors : THREAD_LIMIT;
}

int TVMBackendParallelLaunch(FTVMParallelLambda task, void *closure_data, int num_task) {
  if (num_task < 0 || num_task > THREAD_LIMIT)
    return tn__packed_raise("ValueError", "a parallel launch can have at most 256 tasks");
  if (inside_task && num_task > 1)
    return tn__packed_raise("RuntimeError", "a parallel launch inside a task of another launch can have only one task");
  int32_t count = inside_task ? 1 : num_task == 0 ? default_tasks() : num_task;
  launch_t launch = {.task = task, .closure_data = closure_data, .env = {NULL, count}, .unfinished = count};
  launch.env.sync_handle = &launch;
  if (count == 1) return perform(&launch, 0);
  tn_environment_will_serve(1);
  tn__lock(&lock);
  const bool has_threads = reserve_threads(count - 1);
  if (has_threads) run_launch(&launch);
  tn__unlock(&lock);
  tn_environment_will_serve(0);
  if (!has_threads)
    return tn__packed_raise("RuntimeError", "the system cannot create more threads for a parallel launch");
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
  tn__lock(&lock);
  const int round = atomic_load(&launch->passed);
  if (++launch->arrived == env->num_task) {
    launch->arrived = 0;
    atomic_store(&launch->passed, round + 1);
    tn__wake_all(&met);
    tn__unlock(&lock);
    return 0;
  }
  tn__unlock(&lock);
  for (int i = 0; i < SPINS; i++)
    if (atomic_load(&launch->passed) != round) return 0;
  tn__lock(&lock);
  while (atomic_load(&launch->passed) == round && !launch->failed) wait_and_serve(&met);
  const bool is_passed = atomic_load(&launch->passed) != round;
  tn__unlock(&lock);
  return is_passed ? 0 : tn__packed_raise("RuntimeError", "another task of the launch failed before the barrier");
}
