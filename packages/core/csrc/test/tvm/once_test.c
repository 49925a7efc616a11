/* Initialisation that happens once, while it runs code of kernels: TVMBackendRunOnce() and TVMFFIHandleInitOnce(). */
#include <stdatomic.h>

#include "raised.h"
#include "tenon/tvm_backend.h"
#include "thread.h"
#include "throwing.h"

static void *outer, *inner;
static int runs;

static int run_inner(void *data) {
  (void)data;
  runs++;
  return 0;
}

static int run_outer(void *data) {
  runs += 10;
  return TVMBackendRunOnce(&inner, run_inner, data, 0);
}

TEST(tvm_run_once_may_need_another_handle) {
  CHECK(bind_ffi());
  CHECK(TVMBackendRunOnce(&outer, run_outer, NULL, 0) == 0 && runs == 11);
  CHECK(TVMBackendRunOnce(&outer, run_outer, NULL, 0) == 0 && outer != NULL && inner != NULL && runs == 11);
}

static int run_itself(void *handle) { return TVMBackendRunOnce(handle, run_itself, handle, 0); }

static void *circular;

static int make_itself(void **result) {
  (void)result;
  return TVMFFIHandleInitOnce(&circular, make_itself);
}

TEST(tvm_once_refuses_a_handle_that_needs_itself) {
  void *handle = NULL;
  CHECK(bind_ffi());
  CHECK(TVMBackendRunOnce(&handle, run_itself, &handle, 0) != 0 && handle == NULL);
  CHECK(raised_is("RuntimeError", "deadlock avoided: the initialisation of a handle waits for itself"));
  CHECK(TVMFFIHandleInitOnce(&circular, make_itself) != 0 && circular == NULL);
  CHECK(raised_is("RuntimeError", "deadlock avoided: the initialisation of a handle waits for itself"));
}

/* Two threads, each of which initialises a handle and needs that of the other. */
static void *handles[2];
static atomic_int begun, refused;
static int value;

static void meet(void) {
  atomic_fetch_add(&begun, 1);
  while (atomic_load(&begun) < 2) sleep_ms(1);
}

static int make_first(void **result);
static int make_second(void **result);

static int need(void **handle, int (*make)(void **result), void **result) {
  static _Thread_local int is_nested;
  *result = &value;
  if (is_nested) return 0;
  meet();
  is_nested = 1;
  if (TVMFFIHandleInitOnce(handle, make) != 0)
    atomic_fetch_add(&refused, raised_is("RuntimeError", "deadlock avoided"));
  is_nested = 0;
  return 0;
}

static int make_first(void **result) { return need(&handles[1], make_second, result); }
static int make_second(void **result) { return need(&handles[0], make_first, result); }

static void *make_handle(void *index) {
  return (void *)(intptr_t)((intptr_t)index == 0 ? TVMFFIHandleInitOnce(&handles[0], make_first)
                                                 : TVMFFIHandleInitOnce(&handles[1], make_second));
}

TEST(tvm_once_refuses_handles_of_two_threads_that_need_each_other) {
  test_thread_t threads[2];
  for (intptr_t i = 0; i < 2; i++) CHECK(thread_start(&threads[i], make_handle, (void *)i));
  for (int i = 0; i < 2; i++) {
    void *status = thread_join(&threads[i]);
    CHECK(status == NULL);
  }
  CHECK(handles[0] == &value && handles[1] == &value && atomic_load(&refused) == 1);
}

static int run_or_throw(void *data) {
  if (*(int *)data) throw_bad_array_new_length();
  return 0;
}

static int is_throwing;

static int make_or_throw(void **result) {
  if (is_throwing) throw_bad_array_new_length();
  *result = &value;
  return 0;
}

static void *run_elsewhere(void *handle) {
  int throws = 0;
  return (void *)(intptr_t)TVMBackendRunOnce(handle, run_or_throw, &throws, 0);
}

TEST(tvm_once_goes_on_after_an_exception) {
  void *handle = NULL, *made = NULL;
  int throws = is_throwing = 1;
  CHECK(bind_ffi());
  CHECK(TVMBackendRunOnce(&handle, run_or_throw, &throws, 0) != 0 && handle == NULL && raised_exception());
  test_thread_t thread;
  CHECK(thread_start(&thread, run_elsewhere, &handle));
  void *status = thread_join(&thread);
  CHECK(status == NULL && handle != NULL);
  CHECK(TVMFFIHandleInitOnce(&made, make_or_throw) != 0 && made == NULL && raised_exception());
  is_throwing = 0;
  CHECK(TVMFFIHandleInitOnce(&made, make_or_throw) == 0 && made == &value);
}

static atomic_int may_end;

static int run_slowly(void *data) {
  (void)data;
  atomic_store(&begun, 10);
  while (!atomic_load(&may_end)) sleep_ms(1);
  return 0;
}

static void *run_slowly_once(void *handle) {
  return (void *)(intptr_t)TVMBackendRunOnce(handle, run_slowly, NULL, 0);
}

TEST(tvm_once_waits_only_for_the_same_handle) {
  void *slow = NULL, *other = NULL;
  int throws = 0;
  test_thread_t threads[2];
  CHECK(bind_ffi());
  atomic_store(&begun, 0);
  for (int i = 0; i < 2; i++) CHECK(thread_start(&threads[i], run_slowly_once, &slow));
  while (atomic_load(&begun) != 10) sleep_ms(1);
  CHECK(TVMBackendRunOnce(&other, run_or_throw, &throws, 0) == 0 && other != NULL);
  atomic_store(&may_end, 1);
  for (int i = 0; i < 2; i++) {
    void *status = thread_join(&threads[i]);
    CHECK(status == NULL);
  }
  CHECK(slow != NULL);
}
