/* Parallel launches, barriers and workspaces of libtenon_packed. */
#include "raised.h"
#include "tenon/tvm_backend.h"
#include "thread.h"
#include "throwing.h"

#define TASKS 4
#define ROUNDS 20

typedef struct {
  int counts[TASKS][ROUNDS]; /* the number of tasks in each round, as each task saw it */
  int round[TASKS];
  int runs[TASKS];
} shared_t;

static int meet(int task_id, TVMParallelGroupEnv *env, void *closure_data) {
  shared_t *shared = closure_data;
  shared->runs[task_id]++;
  for (int round = 0; round < ROUNDS; round++) {
    shared->round[task_id] = round;
    if (TVMBackendParallelBarrier(task_id, env) != 0) return -1;
    for (int i = 0; i < env->num_task; i++) shared->counts[task_id][round] += shared->round[i] == round;
    if (TVMBackendParallelBarrier(task_id, env) != 0) return -1;
  }
  return 0;
}

static void *launch_often(void *unused) {
  (void)unused;
  for (int i = 0; i < 50; i++) {
    shared_t shared = {0};
    if (TVMBackendParallelLaunch(meet, &shared, TASKS) != 0) return "launch";
    for (int task = 0; task < TASKS; task++) {
      if (shared.runs[task] != 1) return "runs";
      for (int round = 0; round < ROUNDS; round++)
        if (shared.counts[task][round] != TASKS) return "barrier";
    }
  }
  return NULL;
}

TEST(tvm_launches_of_several_threads_have_separate_barriers) {
  test_thread_t threads[3];
  CHECK(bind_ffi());
  for (int i = 0; i < 3; i++) CHECK(thread_start(&threads[i], launch_often, NULL));
  for (int i = 0; i < 3; i++) {
    void *failed = thread_join(&threads[i]);
    CHECK(failed == NULL);
  }
}

static int fail_odd(int task_id, TVMParallelGroupEnv *env, void *closure_data) {
  (void)env, (void)closure_data;
  if (task_id % 2 == 0) return 0;
  TVMFFIErrorSetRaisedFromCStr("ValueError", "an odd task");
  return -1;
}

static int launch_inside(int task_id, TVMParallelGroupEnv *env, void *closure_data) {
  (void)task_id, (void)env;
  int *inner = closure_data;
  if (TVMBackendParallelLaunch(fail_odd, NULL, 0) == 0) __atomic_add_fetch(inner, 1, __ATOMIC_SEQ_CST);
  return TVMBackendParallelLaunch(fail_odd, NULL, 2);
}

TEST(tvm_the_first_error_of_a_launch_is_raised_on_the_launching_thread) {
  int64_t before = tn_tvm_live_objects();
  int inner = 0;
  CHECK(bind_ffi());
  CHECK(TVMBackendParallelLaunch(fail_odd, NULL, 4) != 0);
  CHECK(raised_is("ValueError", "an odd task"));
  CHECK(TVMBackendParallelLaunch(fail_odd, NULL, 1) == 0);
  CHECK(TVMBackendParallelLaunch(launch_inside, &inner, 2) != 0);
  CHECK(raised_is("RuntimeError", "a parallel launch inside a task"));
  CHECK(inner == 2);
  CHECK(TVMBackendParallelLaunch(fail_odd, NULL, 1000) != 0);
  CHECK(raised_is("ValueError", "a parallel launch can have at most 256 tasks"));
  CHECK(TVMBackendParallelLaunch(fail_odd, NULL, -1) != 0);
  CHECK(raised_is("ValueError", ""));
  CHECK(tn_tvm_live_objects() == before);
}

static int fail_before_the_barrier(int task_id, TVMParallelGroupEnv *env, void *closure_data) {
  int *refused = closure_data;
  if (task_id == 1) {
    TVMFFIErrorSetRaisedFromCStr("ValueError", "before the barrier");
    return -1;
  }
  if (TVMBackendParallelBarrier(task_id, env) == 0) return 0;
  __atomic_add_fetch(refused, 1, __ATOMIC_SEQ_CST);
  return -1;
}

TEST(tvm_a_failed_task_ends_the_wait_at_the_barrier) {
  CHECK(bind_ffi());
  for (int i = 0; i < 20; i++) {
    int refused = 0;
    CHECK(TVMBackendParallelLaunch(fail_before_the_barrier, &refused, TASKS) != 0 && refused == TASKS - 1);
    CHECK(raised_is("ValueError", "before the barrier"));
  }
}

static int throw_in_one(int task_id, TVMParallelGroupEnv *env, void *closure_data) {
  if (task_id == *(int *)closure_data) throw_bad_array_new_length();
  return TVMBackendParallelBarrier(task_id, env);
}

static int count_task(int task_id, TVMParallelGroupEnv *env, void *closure_data) {
  (void)task_id;
  if (TVMBackendParallelBarrier(task_id, env) != 0) return -1;
  __atomic_add_fetch((int *)closure_data, 1, __ATOMIC_SEQ_CST);
  return 0;
}

TEST(tvm_an_exception_of_a_task_fails_the_launch) {
  CHECK(bind_ffi());
  for (int thrower = 0; thrower < TASKS; thrower++) {
    int runs = 0;
    CHECK(TVMBackendParallelLaunch(throw_in_one, &thrower, TASKS) != 0 && raised_exception());
    CHECK(TVMBackendParallelLaunch(count_task, &runs, TASKS) == 0 && runs == TASKS);
  }
  /* A launch with one task runs it in place, and the next launch is not one inside a task. */
  int first = 0, runs = 0;
  CHECK(TVMBackendParallelLaunch(throw_in_one, &first, 1) != 0 && raised_exception());
  CHECK(TVMBackendParallelLaunch(count_task, &runs, TASKS) == 0 && runs == TASKS);
}

static void *launch_elsewhere(void *runs) {
  return (void *)(intptr_t)TVMBackendParallelLaunch(count_task, runs, TASKS);
}

/* Waits for a launch of another thread. */
static int launch_on_thread(int task_id, TVMParallelGroupEnv *env, void *closure_data) {
  test_thread_t thread;
  if (!thread_start(&thread, launch_elsewhere, closure_data)) return -1;
  void *status = thread_join(&thread);
  return status == NULL ? TVMBackendParallelBarrier(task_id, env) : -1;
}

TEST(tvm_a_task_may_wait_for_a_launch_of_another_thread) {
  int runs = 0;
  CHECK(bind_ffi());
  CHECK(TVMBackendParallelLaunch(launch_on_thread, &runs, TASKS) == 0 && runs == TASKS * TASKS);
}

TEST(tvm_workspaces_are_aligned_and_reused) {
  CHECK(bind_ffi());
  char *first = TVMBackendAllocWorkspace(kDLCPU, 0, 1000, kDLFloat, 32);
  char *second = TVMBackendAllocWorkspace(kDLCPU, 0, 100000, kDLFloat, 32);
  CHECK(first != NULL && second != NULL && (uintptr_t)first % 64 == 0 && (uintptr_t)second % 64 == 0);
  memset(first, 1, 1000);
  memset(second, 2, 100000);
  CHECK(TVMBackendFreeWorkspace(kDLCPU, 0, second) == 0);
  CHECK(TVMBackendFreeWorkspace(kDLCPU, 0, first) == 0);
  CHECK(TVMBackendAllocWorkspace(kDLCPU, 0, 900, kDLFloat, 32) == first);
  CHECK(TVMBackendAllocWorkspace(kDLCPU, 0, 90000, kDLFloat, 32) == second);
  for (int i = 0; i < 40; i++) {
    void *many[40];
    for (int j = 0; j < 40; j++) CHECK((many[j] = TVMBackendAllocWorkspace(kDLCPU, 0, (uint64_t)j * 100, kDLInt, 8)) != NULL);
    for (int j = 39; j >= 0; j--) CHECK(TVMBackendFreeWorkspace(kDLCPU, 0, many[j]) == 0);
  }
  CHECK(TVMBackendFreeWorkspace(kDLCPU, 0, first) == 0);
  CHECK(TVMBackendFreeWorkspace(kDLCPU, 0, second) == 0);
  CHECK(TVMBackendFreeWorkspace(kDLCPU, 0, NULL) == 0);
  CHECK(TVMBackendAllocWorkspace(kDLCUDA, 0, 10, kDLFloat, 32) == NULL);
  CHECK(raised_is("RuntimeError", "a workspace must be on the CPU"));
  CHECK(TVMBackendAllocWorkspace(kDLCPU, 0, UINT64_MAX - 10, kDLFloat, 32) == NULL);
  CHECK(raised_is("MemoryError", ""));
}

static int run_count;
static int run_it(void *closure_data) {
  run_count++;
  return *(int *)closure_data;
}

TEST(tvm_run_once_runs_until_it_succeeds) {
  void *handle = NULL;
  int status = -1;
  CHECK(TVMBackendRunOnce(&handle, run_it, &status, 0) == -1 && handle == NULL);
  status = 0;
  CHECK(TVMBackendRunOnce(&handle, run_it, &status, 0) == 0 && handle != NULL);
  CHECK(TVMBackendRunOnce(&handle, run_it, &status, 0) == 0);
  CHECK(run_count == 2);
}

TEST(tvm_kernels_look_up_functions) {
  static void *context;
  TVMFFIAny module = {.type_index = kTVMFFINone}, prefix = {.type_index = kTVMFFIRawStr, .v_c_str = "c_backend_"};
  TVMFFIByteArray name = span_of("ffi.SystemLib");
  TVMFFIObjectHandle system;
  void *function = NULL;
  CHECK(bind_ffi());
  CHECK(TVMFFIEnvModRegisterSystemLibSymbol("__tvm_ffi_c_backend__library_ctx", &context) == 0);
  CHECK(TVMFFIFunctionGetGlobal(&name, &system) == 0);
  CHECK(TVMFFIFunctionCall(system, &prefix, 1, &module) == 0 && context == module.v_obj);
  CHECK(TVMBackendGetFuncFromEnv(context, "ffi.SystemLib", &function) == 0 && function == system); /* borrowed */
  CHECK(TVMBackendGetFuncFromEnv(context, "test.c.nobody", &function) != 0);
  CHECK(raised_is("ValueError", "Cannot find function test.c.nobody"));
  TVMFFIObjectDecRef(system);
  TVMFFIObjectDecRef(module.v_obj);
}
