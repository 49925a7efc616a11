/* callback.c: threads, references, the queue of releases, and environments that have ended. */
#include "environment.h"

#include "check.h"

enum { THREADS = 4, ROUNDS = 2000, OWN_ID = 7 };

static void *seen_arguments;
static int seen, end_of_function;

static int run(environment_t *environment) {
  int *result = (void *)(uintptr_t)environment->frame->integers[1];
  seen++;
  seen_arguments = (void *)(uintptr_t)environment->frame->integers[0];
  if (result != NULL) *result = 42;
  return end_of_function;
}

TEST(a_callback_runs_the_function_of_its_id) {
  environment_t *environment = environment_open();
  tn_callback_t *callback = NULL;
  int argument = 1, result = 0;
  environment->functions[OWN_ID] = run;
  seen = end_of_function = 0;
  CHECK(tn_callback_create(OWN_ID, &callback) == TN_OK);
  CHECK(tn_callback_environment(callback) == environment->id);
  CHECK(tn_callback_invoke(callback, &argument, &result) == TN_OK);
  CHECK(seen == 1 && seen_arguments == &argument && result == 42);
  end_of_function = THROWS;
  CHECK(tn_callback_invoke(callback, NULL, NULL) == TN_CALLBACK_FAILED);
  end_of_function = OVERFLOWS;
  CHECK(tn_callback_invoke(callback, NULL, NULL) == TN_CALLBACK_FAILED);
  CHECK(seen == 3 && environment->reports == 0);
  tn_callback_release(callback);
  environment_close(environment);
}

TEST(nulls_are_refused) {
  tn_callback_t *callback = NULL;
  size_t count = 0;
  CHECK(tn_callback_create(1, NULL) == TN_INVALID_ARGUMENT);
  CHECK(tn_callback_invoke(NULL, NULL, NULL) == TN_INVALID_ARGUMENT);
  CHECK(tn_callbacks_take_released(NULL, 0, &count) == TN_INVALID_ARGUMENT);
  /* This thread has no JavaScript. */
  CHECK(tn_callback_create(1, &callback) == TN_CLOSED && callback == NULL);
  tn_callback_retain(NULL);
  tn_callback_release(NULL);
}

TEST(ids_of_released_callbacks_are_taken_in_batches) {
  environment_t *environment = environment_open();
  for (int64_t id = 0; id < 10; id++) {
    tn_callback_t *callback = NULL;
    CHECK(tn_callback_create(id, &callback) == TN_OK);
    tn_callback_retain(callback);
    tn_callback_release(callback);
    tn_callback_release(callback);
  }
  int64_t ids[4];
  size_t count = 0;
  int64_t sum = 0;
  int batches = 0;
  do {
    CHECK(tn_callbacks_take_released(ids, 4, &count) == TN_OK);
    for (size_t i = 0; i < count; i++) sum += ids[i];
    batches++;
  } while (count > 0);
  CHECK(sum == 45 && batches == 4);
  environment_close(environment);
}

static void *invoke(void *callback) {
  return (void *)(intptr_t)tn_callback_invoke(callback, NULL, NULL);
}

TEST(a_foreign_thread_is_refused) {
  environment_t *environment = environment_open();
  tn_callback_t *callback = NULL;
  test_thread_t thread;
  environment->functions[OWN_ID] = run;
  seen = 0;
  CHECK(tn_callback_create(OWN_ID, &callback) == TN_OK);
  CHECK(thread_start(&thread, invoke, callback));
  void *status = thread_join(&thread);
  CHECK((intptr_t)status == TN_WRONG_THREAD && seen == 0);
  tn_callback_release(callback);
  environment_close(environment);
}

static void *invoke_with_own_environment(void *callback) {
  environment_t *environment = environment_open();
  environment->functions[OWN_ID] = run;
  void *status = invoke(callback);
  environment_close(environment);
  return status;
}

TEST(another_thread_with_JavaScript_is_refused) {
  environment_t *environment = environment_open();
  tn_callback_t *callback = NULL;
  test_thread_t thread;
  environment->functions[OWN_ID] = run;
  seen = 0;
  CHECK(tn_callback_create(OWN_ID, &callback) == TN_OK);
  CHECK(thread_start(&thread, invoke_with_own_environment, callback));
  void *status = thread_join(&thread);
  CHECK((intptr_t)status == TN_WRONG_THREAD && seen == 0);
  tn_callback_release(callback);
  environment_close(environment);
}

TEST(a_callback_outlives_its_environment) {
  environment_t *environment = environment_open();
  tn_callback_t *callback = NULL;
  environment->functions[OWN_ID] = run;
  seen = 0;
  CHECK(tn_callback_create(OWN_ID, &callback) == TN_OK);
  tn_environment_shut();
  CHECK(tn_callback_invoke(callback, NULL, NULL) == TN_CLOSED);
  environment_close(environment);
  CHECK(tn_callback_invoke(callback, NULL, NULL) == TN_WRONG_THREAD && seen == 0);
  tn_callback_release(callback);
}

static tn_callback_t *shared[ROUNDS];

static void *release_all(void *unused) {
  (void)unused;
  for (int i = 0; i < ROUNDS; i++) tn_callback_release(shared[i]);
  return NULL;
}

/* Threads release references while the environment takes ids and then ends. */
TEST(releases_race_with_the_end_of_the_environment) {
  environment_t *environment = environment_open();
  test_thread_t threads[THREADS];
  for (int i = 0; i < ROUNDS; i++) {
    CHECK(tn_callback_create(i, &shared[i]) == TN_OK);
    for (int holder = 1; holder < THREADS; holder++) tn_callback_retain(shared[i]);
  }
  for (int i = 0; i < THREADS; i++) CHECK(thread_start(&threads[i], release_all, NULL));
  int64_t ids[16];
  size_t count = 0;
  int taken = 0;
  while (taken < ROUNDS / 2) {
    CHECK(tn_callbacks_take_released(ids, 16, &count) == TN_OK);
    taken += (int)count;
  }
  environment_close(environment);
  for (int i = 0; i < THREADS; i++) thread_join(&threads[i]);
}
