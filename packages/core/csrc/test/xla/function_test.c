/* function.c: TypeScript functions as typed handlers, replaced by C functions. */
#include "environment.h"

#include "check.h"
#include "support.h"

static int32_t answer_code;

/* Computes y = x + 1, or fails with a code chosen by the test. */
static int increment(environment_t *environment) {
  float *const *data = (void *)(uintptr_t)environment->frame->integers[0];
  void *call = (void *)(uintptr_t)environment->frame->integers[1];
  if (answer_code == -1) return THROWS;
  if (answer_code != 0) {
    tn_xla_function_fail(call, answer_code, "as the test wants");
    tn_xla_function_fail(call, 9, "too late");
    return RETURNS;
  }
  for (int i = 0; i < 2; i++) data[1][i] = data[0][i] + 1;
  return RETURNS;
}

static const int64_t two[] = {2}, three[] = {3};
static const tn_xla_function_buffer_t buffers[] = {{TN_XLA_F32, 1, two}, {TN_XLA_F32, 1, two}};
static void *pointers[2];
static const tn_xla_function_t function = {1, 1, buffers, pointers, 0};

typedef struct {
  environment_t *environment;
  tn_callback_t *callback;
  tn_xla_handler_t *handler;
} made_t;

static made_t make(void) {
  made_t made = {environment_open(), NULL, NULL};
  void *address = NULL;
  made.environment->functions[FIRST_FUNCTION] = increment;
  if (tn_callback_create(FIRST_FUNCTION, &made.callback) != TN_OK ||
      tn_xla_function_open(made.callback, &function, &address) != TN_OK)
    abort();
  memcpy(&made.handler, &address, sizeof address);
  return made;
}

static int32_t end(made_t made) {
  void *address = NULL;
  memcpy(&address, &made.handler, sizeof address);
  const int32_t status = tn_xla_function_close(address);
  tn_callback_release(made.callback);
  environment_close(made.environment);
  return status;
}

/* Calls the handler with one operand and one result, both f32 of the given sizes. */
static void *prepare_call(tn_xla_handler_t *handler, const int64_t *operand, const int64_t *result, uint32_t args) {
  descriptor_t d;
  put_header(&d, 1, args, 1, 0, (tn_xla_bundle_v1_t){NULL, NULL, NULL, handler});
  for (uint32_t i = 0; i < args; i++) put_buffer(&d, TN_XLA_F32, 1, operand);
  put_buffer(&d, TN_XLA_F32, 1, result);
  return prepare(&d);
}

static failure_t fail_with(tn_xla_handler_t *handler, const int64_t *operand, const int64_t *result, uint32_t args) {
  void *call = prepare_call(handler, operand, result, args);
  const int32_t status = tn_xla_execute(call);
  const failure_t failure = status == TN_KERNEL_FAILED ? failure_of(call) : (failure_t){-1, -1, "no failure"};
  finish(call);
  return failure;
}

TEST(a_function_can_be_a_handler) {
  made_t made = make();
  float x[] = {1, 2}, y[] = {0, 0};
  void *call = prepare_call(made.handler, two, two, 1);
  buffer_of(call, 0)->data = x;
  buffer_of(call, 1)->data = y;
  CHECK(tn_xla_execute(call) == TN_OK && y[0] == 2 && y[1] == 3);
  finish(call);
  CHECK(end(made) == TN_OK);
}

TEST(a_function_answers_the_metadata_question) {
  made_t made = make();
  tn_xla_metadata_t metadata;
  int32_t code = 0;
  void *address = NULL;
  memcpy(&address, &made.handler, sizeof address);
  CHECK(tn_xla_metadata(address, &metadata, &code) == TN_OK);
  CHECK(metadata.api_version.major_version == 0 && metadata.api_version.minor_version == 1 && metadata.traits == 0);
  end(made);
}

TEST(a_function_checks_its_frame) {
  made_t made = make();
  CHECK(strstr(fail_with(made.handler, two, two, 2).text, "Wrong number of arguments: expected 1 but got 2") != NULL);
  CHECK(strstr(fail_with(made.handler, three, two, 1).text, "Wrong size of axis 0 of argument 0: expected 2 but got 3") != NULL);
  CHECK(strstr(fail_with(made.handler, two, three, 1).text, "Wrong size of axis 0 of result 0") != NULL);
  tn_xla_call_frame_t frame = {.struct_size = 160, .api = XLA_FFI_GetApi(), .stage = TN_XLA_EXECUTE};
  const size_t before = tn_xla_live_errors();
  for (int i = 0; i < 2; i++) {
    tn_xla_error_t *error = made.handler(&frame);
    tn_xla_error_destroy_args_t destroy = {sizeof destroy, NULL, error};
    CHECK(error != NULL);
    frame.api->error_destroy(&destroy);
    frame.struct_size = TN_XLA_SIZE_CALL_FRAME;
    frame.stage = TN_XLA_PREPARE;
  }
  CHECK(tn_xla_live_errors() == before);
  end(made);
}

TEST(a_failure_of_a_function_is_never_success) {
  made_t made = make();
  answer_code = TN_XLA_NOT_FOUND;
  failure_t failure = fail_with(made.handler, two, two, 1);
  CHECK(failure.code == TN_XLA_NOT_FOUND && strcmp(failure.text, "as the test wants") == 0);
  answer_code = -1;
  failure = fail_with(made.handler, two, two, 1);
  CHECK(failure.code == TN_XLA_INTERNAL && strstr(failure.text, "threw") != NULL);
  answer_code = 0;
  end(made);
}

static int32_t code_elsewhere;

static void *execute_elsewhere(void *handler) {
  tn_xla_handler_t *function_handler = NULL;
  memcpy(&function_handler, &handler, sizeof handler);
  code_elsewhere = fail_with(function_handler, two, two, 1).code;
  return NULL;
}

TEST(a_function_refuses_foreign_threads) {
  made_t made = make();
  void *address = NULL;
  memcpy(&address, &made.handler, sizeof address);
  test_thread_t thread;
  CHECK(thread_start(&thread, execute_elsewhere, address));
  thread_join(&thread);
  CHECK(code_elsewhere == TN_XLA_UNAVAILABLE);
  end(made);
}

TEST(a_closed_function_answers_unavailable) {
  made_t made = make();
  CHECK(end(made) == TN_OK);
  CHECK(fail_with(made.handler, two, two, 1).code == TN_XLA_UNAVAILABLE);
  void *address = NULL;
  memcpy(&address, &made.handler, sizeof address);
  CHECK(tn_xla_function_close(address) == TN_NOT_FOUND);
  CHECK(tn_xla_function_close(NULL) == TN_NOT_FOUND);
}

TEST(a_function_answers_unavailable_after_its_environment_has_ended) {
  made_t made = make();
  void *address = NULL;
  memcpy(&address, &made.handler, sizeof address);
  tn_callback_release(made.callback);
  environment_close(made.environment);
  CHECK(fail_with(made.handler, two, two, 1).code == TN_XLA_UNAVAILABLE);
  CHECK(tn_xla_function_close(address) == TN_NOT_FOUND);
}

enum { MANY_FUNCTIONS = 5000 };

/* Runtimes may keep a handler for ever, so its address is not used again. */
TEST(functions_are_not_limited_and_have_addresses_of_their_own) {
  environment_t *environment = environment_open();
  tn_callback_t *callback = NULL;
  static void *handlers[MANY_FUNCTIONS];
  void *another = NULL;
  environment->functions[FIRST_FUNCTION] = increment;
  CHECK(tn_callback_create(FIRST_FUNCTION, &callback) == TN_OK);
  for (int i = 0; i < MANY_FUNCTIONS; i++) {
    CHECK(tn_xla_function_open(callback, &function, &handlers[i]) == TN_OK);
    CHECK(i == 0 || handlers[i] != handlers[i - 1]);
  }
  tn_xla_handler_t *last = NULL;
  memcpy(&last, &handlers[MANY_FUNCTIONS - 1], sizeof last);
  float x[] = {1, 2}, y[] = {0, 0};
  void *call = prepare_call(last, two, two, 1);
  buffer_of(call, 0)->data = x;
  buffer_of(call, 1)->data = y;
  CHECK(tn_xla_execute(call) == TN_OK && y[0] == 2 && y[1] == 3);
  finish(call);
  CHECK(tn_xla_function_close(handlers[7]) == TN_OK);
  CHECK(tn_xla_function_open(callback, &function, &another) == TN_OK && another != handlers[7]);
  CHECK(tn_xla_function_close(another) == TN_OK);
  for (int i = 0; i < MANY_FUNCTIONS; i++) CHECK(tn_xla_function_close(handlers[i]) == (i == 7 ? TN_NOT_FOUND : TN_OK));
  tn_callback_release(callback);
  environment_close(environment);
}

TEST(a_function_refuses_nulls) {
  void *out = NULL;
  made_t made = make();
  CHECK(tn_xla_function_open(NULL, &function, &out) == TN_INVALID_ARGUMENT);
  CHECK(tn_xla_function_open(made.callback, NULL, &out) == TN_INVALID_ARGUMENT);
  CHECK(tn_xla_function_open(made.callback, &function, NULL) == TN_INVALID_ARGUMENT);
  CHECK(tn_xla_function_fail(NULL, 3, "") == TN_INVALID_ARGUMENT);
  CHECK(tn_xla_function_fail(&made, 0, "") == TN_INVALID_ARGUMENT);
  end(made);
}
