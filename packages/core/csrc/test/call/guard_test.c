/* guard.c and the guard library: exceptions become statuses with their text. */
#include <string.h>

#include "check.h"
#include "environment.h"
#include "throwing.h"

/* The guard library is linked with the tests. Other processes load it and install it in the same way. */
extern const tn_guard_t tn_guard;

__attribute__((constructor(101))) static void install(void) { tn_guard_install(&tn_guard); }

static void count(void *context) { ++*(int *)context; }

static void throw_standard(void *context) {
  throw_bad_array_new_length();
  ++*(int *)context; /* not reached */
}

TEST(a_guarded_body_runs_once) {
  int calls = 0;
  CHECK(tn_guard_call(count, &calls) == TN_OK);
  CHECK(calls == 1);
}

TEST(an_exception_becomes_a_status_and_a_message) {
  CHECK(tn_guard_call(throw_standard, NULL) == TN_EXCEPTION);
  CHECK(strstr(tn_last_error(), "bad_array_new_length") != NULL);
  int calls = 0;
  CHECK(tn_guard_call(count, &calls) == TN_OK);
}

#if !defined(__APPLE__)
static void throw_with_text(void *text) { throw_logic_error(text); }

static void throw_without_memory(void *context) {
  (void)context;
  throw_bad_alloc();
}

TEST(a_message_has_the_type_of_the_exception_behind_its_text) {
  CHECK(tn_guard_call(throw_with_text, (char *)"no reason") == TN_EXCEPTION);
  CHECK(strcmp(tn_last_error(), "no reason (std::logic_error)") == 0);
}

TEST(a_type_stays_behind_a_text_that_is_cut) {
  char message[40];
  char words[] = "a text of many words, which is longer than the room for it";
  CHECK(tn_guard.run(throw_with_text, words, message, sizeof message) == TN_EXCEPTION);
  CHECK(strcmp(message, "a text of many words (std::logic_error)") == 0);
}

TEST(a_bad_alloc_has_a_status_of_its_own) {
  CHECK(tn_guard_call(throw_without_memory, NULL) == TN_OUT_OF_MEMORY);
  CHECK(strcmp(tn_last_error(), "std::bad_alloc") == 0);
}
#endif

TEST(a_long_message_is_truncated_at_the_capacity) {
  char message[4] = "zzz", whole[64];
  CHECK(tn_guard.run(throw_standard, NULL, whole, sizeof whole) == TN_EXCEPTION);
  CHECK(tn_guard.run(throw_standard, NULL, message, sizeof message) == TN_EXCEPTION);
  CHECK(strlen(message) == 3 && strncmp(message, whole, 3) == 0);
  CHECK(tn_guard.run(throw_standard, NULL, NULL, 0) == TN_EXCEPTION);
}

TEST(a_null_guard_is_refused) {
  const tn_guard_t incomplete = {.run = tn_guard.run, .unwind = tn_guard.unwind};
  CHECK(tn_guard_install(NULL) == TN_INVALID_ARGUMENT && tn_guard_install(&incomplete) == TN_INVALID_ARGUMENT);
}

TEST(an_exception_that_leaves_a_call_ends_the_call_with_its_text) {
  environment_t *environment = environment_open();
  int calls = 0;
  for (int i = 0; i < 100; i++) {
    const uint32_t state = environment_call(environment, CODE_OF(throw_standard), 0, (uintptr_t)&calls, 0);
    CHECK(state == TN_CALL_CAUGHT && strstr(tn_last_error(), "bad_array_new_length") != NULL);
  }
  CHECK(environment_call(environment, CODE_OF(count), 0, (uintptr_t)&calls, 0) == TN_CALL_RETURNED && calls == 1);
  environment_close(environment);
}

static char text[256];

static int read_error(environment_t *environment) {
  strncpy(text, tn_last_error(), sizeof text - 1);
  return environment_job_done(environment);
}

TEST(an_exception_that_leaves_an_asynchronous_call_reaches_its_completion) {
  environment_t *environment = environment_open();
  environment->functions[JOB_DONE] = read_error;
  environment->frame->target = CODE_OF(throw_standard);
  CHECK(tn_call_submit(1) == TN_OK && environment_await(environment, 1));
  CHECK(environment->statuses[0] == TN_CALL_CAUGHT && strstr(text, "bad_array_new_length") != NULL);
  environment_close(environment);
}
