/* callback.c: threads, references, the queue of releases, and closed tables. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "check.h"
#include "tenon_call.h"

static tn_callback_call_t call;
static int64_t seen_id;
static void *seen_arguments;
static int32_t answer = 1;

static int32_t trampoline(void) {
  void *result = (void *)(uintptr_t)call.result;
  seen_id = (int64_t)call.id;
  seen_arguments = (void *)(uintptr_t)call.arguments;
  if (result != NULL) *(int *)result = 42;
  return answer;
}

TEST(a_callback_reaches_the_trampoline) {
  tn_callbacks_t *table = NULL;
  tn_callback_t *callback = NULL;
  int result = 0;
  answer = 1;
  CHECK(tn_callbacks_open(trampoline, &call, &table) == TN_OK);
  CHECK(tn_callback_create(table, 7, &callback) == TN_OK);
  CHECK(tn_callback_invoke(callback, &answer, &result) == TN_OK);
  CHECK(seen_id == 7 && seen_arguments == &answer && result == 42);
  answer = 0; /* the result of a trampoline that has thrown */
  CHECK(tn_callback_invoke(callback, NULL, NULL) == TN_CALLBACK_FAILED);
  tn_callback_release(callback);
  tn_callbacks_close(table);
}

TEST(nulls_are_refused) {
  tn_callbacks_t *table = NULL;
  tn_callback_t *callback = NULL;
  size_t count = 0;
  CHECK(tn_callbacks_open(NULL, &call, &table) == TN_INVALID_ARGUMENT);
  CHECK(tn_callbacks_open(trampoline, NULL, &table) == TN_INVALID_ARGUMENT);
  CHECK(tn_callbacks_open(trampoline, &call, NULL) == TN_INVALID_ARGUMENT);
  CHECK(tn_callback_create(NULL, 1, &callback) == TN_INVALID_ARGUMENT);
  CHECK(tn_callback_invoke(NULL, NULL, NULL) == TN_INVALID_ARGUMENT);
  CHECK(tn_callbacks_take_released(NULL, NULL, 0, &count) == TN_INVALID_ARGUMENT);
  tn_callback_retain(NULL);
  tn_callback_release(NULL);
  tn_callbacks_close(NULL);
}

TEST(ids_of_released_callbacks_are_taken_in_batches) {
  tn_callbacks_t *table = NULL;
  CHECK(tn_callbacks_open(trampoline, &call, &table) == TN_OK);
  for (int64_t id = 0; id < 10; id++) {
    tn_callback_t *callback = NULL;
    CHECK(tn_callback_create(table, id, &callback) == TN_OK);
    tn_callback_retain(callback);
    tn_callback_release(callback);
    tn_callback_release(callback);
  }
  int64_t ids[4];
  size_t count = 0;
  int64_t sum = 0;
  int batches = 0;
  do {
    CHECK(tn_callbacks_take_released(table, ids, 4, &count) == TN_OK);
    for (size_t i = 0; i < count; i++) sum += ids[i];
    batches++;
  } while (count > 0);
  CHECK(sum == 45 && batches == 4);
  tn_callbacks_close(table);
}

static void *invoke(void *callback) {
  return (void *)(intptr_t)tn_callback_invoke(callback, NULL, NULL);
}

TEST(a_foreign_thread_is_refused) {
  tn_callbacks_t *table = NULL;
  tn_callback_t *callback = NULL;
  pthread_t thread;
  void *status = NULL;
  CHECK(tn_callbacks_open(trampoline, &call, &table) == TN_OK);
  CHECK(tn_callback_create(table, 1, &callback) == TN_OK);
  CHECK(pthread_create(&thread, NULL, invoke, callback) == 0);
  pthread_join(thread, &status);
  CHECK((intptr_t)status == TN_WRONG_THREAD);
  tn_callback_release(callback);
  tn_callbacks_close(table);
}

TEST(a_callback_outlives_its_table) {
  tn_callbacks_t *table = NULL;
  tn_callback_t *callback = NULL;
  CHECK(tn_callbacks_open(trampoline, &call, &table) == TN_OK);
  CHECK(tn_callback_create(table, 1, &callback) == TN_OK);
  tn_callbacks_close(table);
  CHECK(tn_callback_invoke(callback, NULL, NULL) == TN_CLOSED);
  tn_callback_release(callback);
}

enum { THREADS = 4, ROUNDS = 2000 };
static tn_callback_t *shared[ROUNDS];

static void *release_all(void *unused) {
  (void)unused;
  for (int i = 0; i < ROUNDS; i++) tn_callback_release(shared[i]);
  return NULL;
}

/* Threads release references while the thread of the table takes ids and then closes the table. */
TEST(releases_race_with_the_table) {
  tn_callbacks_t *table = NULL;
  pthread_t threads[THREADS];
  CHECK(tn_callbacks_open(trampoline, &call, &table) == TN_OK);
  for (int i = 0; i < ROUNDS; i++) {
    CHECK(tn_callback_create(table, i, &shared[i]) == TN_OK);
    for (int holder = 1; holder < THREADS; holder++) tn_callback_retain(shared[i]);
  }
  for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, release_all, NULL) == 0);
  int64_t ids[16];
  size_t count = 0;
  int taken = 0;
  while (taken < ROUNDS / 2) {
    CHECK(tn_callbacks_take_released(table, ids, 16, &count) == TN_OK);
    taken += (int)count;
  }
  tn_callbacks_close(table);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}
