/* guard.c and the guard library: exceptions become statuses with their text. */
#include <dlfcn.h>
#include <string.h>

#include "check.h"
#include "tenon_call.h"

/* The guard library is linked with the tests. Other processes load it and install it in the same way. */
int32_t tn_guard(void (*body)(void *), void *context, char *message, size_t capacity);

__attribute__((constructor(101))) static void install(void) { tn_guard_install(tn_guard); }

static void count(void *context) { ++*(int *)context; }

/* Throws a std::bad_array_new_length from C, with a function of the C++ runtime, which the guard library has loaded. */
static void throw_standard(void *context) {
  void (*thrower)(void) = NULL;
  void *address = dlsym(RTLD_DEFAULT, "__cxa_throw_bad_array_new_length");
  memcpy(&thrower, &address, sizeof thrower);
  thrower();
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

TEST(a_long_message_is_truncated_at_the_capacity) {
  char message[4] = "zzz";
  CHECK(tn_guard(throw_standard, NULL, message, sizeof message) == TN_EXCEPTION);
  CHECK(strcmp(message, "std") == 0);
  CHECK(tn_guard(throw_standard, NULL, NULL, 0) == TN_EXCEPTION);
}

TEST(a_null_guard_is_refused) { CHECK(tn_guard_install(NULL) == TN_INVALID_ARGUMENT); }
