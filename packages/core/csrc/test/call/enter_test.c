/* enter.c: calls that the frame describes, errno, and nested calls. */
#include <errno.h>

#include "check.h"
#include "environment.h"
#include "registers.h"

static uint64_t weigh(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g, uint64_t h,
                      uint64_t i) {
  return a + 10 * b + 100 * c + 1000 * d + 10000 * e + 100000 * f + 1000000 * g + 10000000 * h + 100000000 * i;
}

TEST(integers_are_passed_in_registers_and_on_the_stack) {
  environment_t *environment = environment_open();
  tn_call_frame_t *frame = environment->frame;
  frame->target = CODE_OF(weigh);
  frame->flags = 0;
  frame->stack_size = (9 - INTEGER_REGISTERS + 1) / 2 * 16;
  for (uint64_t i = 0; i < 9; i++) {
    if (i < INTEGER_REGISTERS) frame->integers[i] = i + 1;
    else memcpy(frame->stack + 8 * (i - INTEGER_REGISTERS), &(uint64_t){i + 1}, 8);
  }
  tn_driver_enter();
  CHECK(frame->state == TN_CALL_RETURNED && frame->results[0] == 987654321);
  environment_close(environment);
}

TEST(any_frame_is_performed_without_an_environment) {
  static tn_call_frame_t frame;
  frame.target = CODE_OF(tn_library_open);
  frame.integers[2] = 1;
  tn_call_perform(&frame);
  CHECK((int32_t)frame.results[0] == TN_INVALID_ARGUMENT && tn_environment_current() == NULL);
}

static double weigh_doubles(double a, double b, double c, double d, double e, double f, double g, double h, int64_t i) {
  return a + 2 * b + 4 * c + 8 * d + 16 * e + 32 * f + 64 * g + 128 * h + (double)i;
}

TEST(doubles_are_passed_in_vector_registers) {
  environment_t *environment = environment_open();
  tn_call_frame_t *frame = environment->frame;
  double result;
  frame->target = CODE_OF(weigh_doubles);
  frame->flags = TN_CALL_VECTORS;
  frame->stack_size = VECTOR_REGISTERS < 8 ? 48 : 0;
  frame->extra = VECTOR_REGISTERS;
  for (int i = 0; i < 8; i++) {
    void *place = i < VECTOR_REGISTERS ? (void *)&frame->vectors[i] : frame->stack + 8 * (i - VECTOR_REGISTERS);
    memcpy(place, &(double){i + .5}, sizeof(double));
  }
  memcpy(VECTOR_REGISTERS < 8 ? (void *)(frame->stack + 32) : &frame->integers[0], &(int64_t){1000}, sizeof(int64_t));
  tn_driver_enter();
  memcpy(&result, frame->vector_results, sizeof result);
  CHECK(result == 1000 + .5 * 255 + 2 + 8 + 24 + 64 + 160 + 384 + 896);
  environment_close(environment);
}

typedef struct {
  int64_t first, second;
} pair_t;

static pair_t make_pair(int64_t first) { return (pair_t){first, -first}; }

#if defined(_WIN32)
TEST(a_struct_of_two_words_is_returned_in_memory_of_the_caller) {
  environment_t *environment = environment_open();
  pair_t pair = {0, 0};
  CHECK(environment_call(environment, CODE_OF(make_pair), 0, (uintptr_t)&pair, 7) == TN_CALL_RETURNED);
  CHECK(environment->frame->results[0] == (uintptr_t)&pair && pair.first == 7 && pair.second == -7);
  environment_close(environment);
}
#else
TEST(a_struct_of_two_words_is_returned_in_two_registers) {
  environment_t *environment = environment_open();
  CHECK(environment_call(environment, CODE_OF(make_pair), 0, 7, 0) == TN_CALL_RETURNED);
  CHECK(environment->frame->results[0] == 7 && (int64_t)environment->frame->results[1] == -7);
  environment_close(environment);
}
#endif

static int64_t read_and_set_errno(int64_t value) {
  const int before = errno;
  if (value != 0) errno = (int)value;
  return before;
}

TEST(errno_is_0_before_the_call_and_in_the_frame_after_it) {
  environment_t *environment = environment_open();
  tn_call_frame_t *frame = environment->frame;
  errno = EPERM;
  environment_call(environment, CODE_OF(read_and_set_errno), TN_CALL_ERRNO, ENOENT, 0);
  CHECK(frame->results[0] == 0 && frame->error_number == ENOENT);
  errno = EPERM;
  environment_call(environment, CODE_OF(read_and_set_errno), TN_CALL_ERRNO, 0, 0);
  CHECK(frame->results[0] == 0 && frame->error_number == 0);
  /* Without the flag nothing is set. */
  errno = EPERM;
  environment_call(environment, CODE_OF(read_and_set_errno), 0, 0, 0);
  CHECK(frame->results[0] == EPERM);
  environment_close(environment);
}

/* A stub that changes errno like any JavaScript can, and its native caller. */
static void *stub;

static int64_t call_stub(int64_t argument) {
  int64_t (*function)(int64_t) = NULL;
  memcpy(&function, &stub, sizeof stub);
  return function(argument);
}

static int change_errno(environment_t *environment) {
  (void)environment;
  errno = EIO;
  return RETURNS;
}

static int64_t keep_errno(int64_t argument) {
  errno = EBADF;
  call_stub(argument);
  return errno;
}

static void make_stub(environment_t *environment, function_t *function) {
  environment->functions[FIRST_FUNCTION] = function;
  const tn_stub_description_t description = {.function = FIRST_FUNCTION, .timeout_ms = UINT32_MAX};
  if (tn_stub_create(&description, &stub) != TN_OK) abort();
}

TEST(an_upcall_does_not_change_errno) {
  environment_t *environment = environment_open();
  make_stub(environment, change_errno);
  environment_call(environment, CODE_OF(keep_errno), TN_CALL_ERRNO, 0, 0);
  CHECK(environment->frame->results[0] == EBADF && environment->frame->error_number == EBADF);
  environment_close(environment);
}

/* A function of TypeScript that overwrites the frame with a call of its own. */
static int make_inner_call(environment_t *environment) {
  environment_call(environment, CODE_OF(weigh), 0, 1, 2);
  environment->frame->flags = ~0u;
  environment->frame->results[0] = 5;
  return RETURNS;
}

TEST(the_flags_of_a_call_are_read_before_it) {
  environment_t *environment = environment_open();
  make_stub(environment, make_inner_call);
  environment->frame->error_number = -77;
  CHECK(environment_call(environment, CODE_OF(call_stub), 0, 0, 0) == TN_CALL_RETURNED);
  CHECK(environment->frame->results[0] == 5);
  environment_close(environment);
}

enum { DEEP = 50 };

/* Each level is a native call that calls TypeScript, which makes the call of the next level. */
static int deepen(environment_t *environment) {
  const uint64_t level = environment->frame->integers[0];
  uint64_t below = 0;
  if (level < DEEP) {
    if (environment_call(environment, CODE_OF(call_stub), 0, level + 1, 0) != TN_CALL_RETURNED) return THROWS;
    below = environment->frame->results[0];
  }
  environment->frame->results[0] = below + level;
  return RETURNS;
}

TEST(calls_and_upcalls_nest_50_deep) {
  environment_t *environment = environment_open();
  make_stub(environment, deepen);
  for (int round = 0; round < 20; round++) {
    CHECK(environment_call(environment, CODE_OF(call_stub), 0, 1, 0) == TN_CALL_RETURNED);
    CHECK(environment->frame->results[0] == DEEP * (DEEP + 1) / 2);
  }
  environment_close(environment);
}

static int throw_at_the_bottom(environment_t *environment) {
  const uint64_t level = environment->frame->integers[0];
  if (level == DEEP) return THROWS;
  return environment_call(environment, CODE_OF(call_stub), 0, level + 1, 0) == TN_CALL_THROWN ? THROWS : RETURNS;
}

TEST(an_error_passes_through_50_levels) {
  environment_t *environment = environment_open();
  make_stub(environment, throw_at_the_bottom);
  CHECK(environment_call(environment, CODE_OF(call_stub), 0, 1, 0) == TN_CALL_THROWN);
  environment->functions[FIRST_FUNCTION] = deepen;
  CHECK(environment_call(environment, CODE_OF(call_stub), 0, 1, 0) == TN_CALL_RETURNED);
  environment_close(environment);
}

static int32_t answer(tn_call_frame_t *frame) {
  (void)frame;
  return 42;
}

static int32_t call_in_entry(tn_call_frame_t *frame) {
  (void)frame;
  return (int32_t)call_stub(1);
}

TEST(an_entry_leaves_its_result_in_the_frame) {
  environment_t *environment = environment_open();
  make_stub(environment, deepen);
  tn_driver_run(answer);
  CHECK(environment->frame->error_number == 42 && environment->frame->state == TN_CALL_RETURNED);
  tn_driver_run(call_in_entry);
  CHECK(environment->frame->error_number == DEEP * (DEEP + 1) / 2);
  environment->functions[FIRST_FUNCTION] = throw_at_the_bottom;
  tn_driver_run(call_in_entry);
  CHECK(environment->frame->error_number == 0 && environment->frame->state == TN_CALL_THROWN);
  tn_driver_run(answer);
  CHECK(environment->frame->state == TN_CALL_RETURNED);
  environment_close(environment);
}

static int64_t negate(int64_t value) { return -value; }

static void *call_on_own_driver(void *failed) {
  environment_t *environment = environment_open();
  for (int64_t i = 0; i < 20000; i++) {
    environment_call(environment, CODE_OF(negate), 0, (uint64_t)i, 0);
    if ((int64_t)environment->frame->results[0] != -i) *(int *)failed = 1;
  }
  environment_close(environment);
  return NULL;
}

TEST(threads_have_frames_and_stacks_of_their_own) {
  enum { THREADS = 4 };
  test_thread_t threads[THREADS];
  int failed[THREADS] = {0};
  for (int i = 0; i < THREADS; i++) CHECK(thread_start(&threads[i], call_on_own_driver, &failed[i]));
  for (int i = 0; i < THREADS; i++) {
    thread_join(&threads[i]);
    CHECK(!failed[i]);
  }
}
