/* stubs.c, script_stub.c: native functions that run functions of TypeScript, and what they do when they are dead. */
#include "check.h"
#include "registers.h"
#include "stub_support.h"

/* LIBRARY_CODE is the most bytes of the stubs that the library contains. */
enum { MANY_STUBS = 9000, LIBRARY_CODE = 4096 * 32 };

typedef int64_t integers_t(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t);
typedef double doubles_t(double, double, double, double, double, double, double, double, double, double);

typedef struct {
  int64_t members[5];
} big_t;
typedef big_t *big_function_t(big_t *memory, int64_t first);

static int runs;
static int64_t seen[8];
static double seen_doubles[10];

/* Adds the first three integers to ten times the last. */
static int take_integers(environment_t *environment) {
  const tn_call_frame_t *frame = environment->frame;
  runs++;
  for (int i = 0; i < INTEGER_REGISTERS; i++) seen[i] = (int64_t)frame->integers[i];
  const int on_stack = 8 - INTEGER_REGISTERS;
  for (int i = 0; i < on_stack; i++) memcpy(&seen[INTEGER_REGISTERS + i], frame->stack + 8 * i, sizeof *seen);
  environment->frame->results[0] = (uint64_t)(seen[0] + seen[1] + seen[2] + 10 * seen[7]);
  return RETURNS;
}

static int take_doubles(environment_t *environment) {
  tn_call_frame_t *frame = environment->frame;
  runs++;
  memcpy(seen_doubles, frame->vectors, VECTOR_REGISTERS * sizeof(double));
  memcpy(seen_doubles + VECTOR_REGISTERS, frame->stack, (10 - VECTOR_REGISTERS) * sizeof(double));
  const double result = seen_doubles[0] + seen_doubles[9];
  memcpy(frame->vector_results, &result, sizeof result);
  return RETURNS;
}

#if defined(__x86_64__)
/* Returns a struct of five numbers, which count up from the argument. */
static int make_big(environment_t *environment) {
  runs++;
  int64_t number = (int64_t)environment->frame->integers[1];
  for (int i = 0; i < 5; i++, number++) memcpy(environment->frame->stack + 8 * i, &number, sizeof number);
  return RETURNS;
}
#endif

/* Native functions, which call the stub under test. */
static void *called;
static int64_t integer_result, sum_of_results;
static double double_result;
#if defined(__x86_64__)
static big_t big, *big_result;
#endif

static void call_integers(void) { integer_result = ((integers_t *)code_at(called))(1, -2, 3, 4, 5, 6, 7, -8); }
static void call_doubles(void) { double_result = ((doubles_t *)code_at(called))(.5, 1, 2, 3, 4, 5, 6, 7, 8, 9.25); }
#if defined(__x86_64__)
static void call_big(void) {
  memset(&big, 0xff, sizeof big);
  big_result = ((big_function_t *)code_at(called))(&big, 7);
}
#endif

static uint32_t enter_code(environment_t *environment, code_t *code) {
  return environment_call(environment, CODE_OF(code), 0, 0, 0);
}

TEST(a_live_stub_runs_its_function_with_arguments_from_registers_and_from_the_stack) {
  environment_t *environment = environment_open();
  environment->functions[FIRST_FUNCTION] = take_integers;
  environment->functions[FIRST_FUNCTION + 1] = take_doubles;
  runs = 0;
  tn_stub_description_t description = describe(FIRST_FUNCTION);
  description.stack_size = 8 * (10 - VECTOR_REGISTERS);
  called = make_stub(description);
  CHECK(enter_code(environment, call_integers) == TN_CALL_RETURNED);
  CHECK(runs == 1 && integer_result == 1 - 2 + 3 - 80);
  const int64_t expected[8] = {1, -2, 3, 4, 5, 6, 7, -8};
  CHECK(memcmp(seen, expected, sizeof expected) == 0);
  description.function++;
  called = make_stub(description);
  CHECK(enter_code(environment, call_doubles) == TN_CALL_RETURNED && runs == 2 && double_result == 9.75);
  CHECK(seen_doubles[7] == 7 && seen_doubles[8] == 8);
  environment_close(environment);
}

#if defined(__x86_64__)
TEST(a_struct_is_returned_through_the_memory_of_the_caller) {
  environment_t *environment = environment_open();
  environment->functions[FIRST_FUNCTION] = make_big;
  tn_stub_description_t description = describe(FIRST_FUNCTION);
  description.result_size = sizeof big;
  called = make_stub(description);
  enter_code(environment, call_big);
  CHECK(big_result == &big);
  for (int i = 0; i < 5; i++) CHECK(big.members[i] == 7 + i);
  /* A dead stub zeroes the memory, and returns its address. */
  CHECK(tn_stub_close(called) == TN_OK);
  runs = 0;
  enter_code(environment, call_big);
  CHECK(big_result == &big && runs == 0);
  for (int i = 0; i < 5; i++) CHECK(big.members[i] == 0);
  environment_close(environment);
}
#endif

TEST(a_dead_stub_returns_its_refused_result_in_every_register) {
  environment_t *environment = environment_open();
  environment->functions[FIRST_FUNCTION] = take_integers;
  tn_stub_counts_t before, after;
  runs = 0;
  called = make_stub(describe(FIRST_FUNCTION));
  CHECK(tn_stub_close(called) == TN_OK);
  tn_stub_counts(&before);
  integer_result = 1;
  CHECK(enter_code(environment, call_integers) == TN_CALL_RETURNED && integer_result == 0);
  double_result = 1;
  enter_code(environment, call_doubles);
  CHECK(double_result == 0);
  tn_stub_description_t description = describe(FIRST_FUNCTION);
  const double refused = -1.5;
  memcpy(&description.refused, &refused, sizeof refused);
  called = make_stub(description);
  CHECK(tn_stub_close(called) == TN_OK);
  enter_code(environment, call_doubles);
  CHECK(double_result == -1.5);
  enter_code(environment, call_integers);
  CHECK((uint64_t)integer_result == description.refused && runs == 0);
  tn_stub_counts(&after);
  CHECK(after.refused == before.refused + 4);
  environment_close(environment);
}

TEST(stubs_die_with_their_environment) {
  environment_t *environment = environment_open();
  environment->functions[FIRST_FUNCTION] = take_integers;
  tn_stub_description_t description = describe(FIRST_FUNCTION);
  description.refused = 5;
  called = make_stub(description);
  runs = 0;
  environment_close(environment);
  call_integers();
  CHECK(integer_result == 5 && runs == 0 && tn_stub_close(called) == TN_NOT_FOUND);
  /* A later environment does not own them. */
  environment = environment_open();
  environment->functions[FIRST_FUNCTION] = take_integers;
  enter_code(environment, call_integers);
  CHECK(integer_result == 5 && runs == 0);
  environment_close(environment);
}

static bool contains(void *const *list, int count, const void *item) {
  for (int i = 0; i < count; i++)
    if (list[i] == item) return true;
  return false;
}

TEST(an_address_is_used_again_only_among_stubs_that_allow_it) {
  environment_t *environment = environment_open();
  enum { SOME = 100 };
  void *dead[SOME], *reusable[SOME];
  tn_stub_description_t description = describe(FIRST_FUNCTION);
  for (int i = 0; i < SOME; i++) dead[i] = make_stub(description);
  for (int i = 0; i < SOME; i++) CHECK(tn_stub_close(dead[i]) == TN_OK);
  description.is_reusable = 1;
  for (int i = 0; i < SOME; i++) reusable[i] = make_stub(description);
  for (int i = 0; i < SOME; i++) CHECK(!contains(dead, SOME, reusable[i]) && tn_stub_close(reusable[i]) == TN_OK);
  /* These do not allow it, and so do not take the addresses of those that do. */
  description.is_reusable = 0;
  for (int i = 0; i < SOME; i++) CHECK(!contains(reusable, SOME, make_stub(description)));
  description.is_reusable = 1;
  for (int i = 0; i < SOME; i++) CHECK(contains(reusable, SOME, make_stub(description)));
  environment_close(environment);
}

static int return_first(environment_t *environment);

TEST(dead_stubs_whose_addresses_can_be_used_again_return_their_refused_results) {
  environment_t *environment = environment_open();
  environment->functions[FIRST_FUNCTION] = return_first;
  enum { SOME = 3 };
  void *made[SOME];
  tn_stub_description_t description = describe(FIRST_FUNCTION);
  description.is_reusable = 1;
  for (int i = 0; i < SOME; i++) {
    description.refused = (uint64_t)(50 + i);
    made[i] = make_stub(description);
  }
  for (int i = 0; i < SOME; i++) CHECK(tn_stub_close(made[i]) == TN_OK);
  for (int i = 0; i < SOME; i++) {
    called = made[i];
    CHECK(enter_code(environment, call_integers) == TN_CALL_RETURNED && integer_result == 50 + i);
  }
  environment_close(environment);
}

static int return_first(environment_t *environment) { return environment->frame->results[0] = 1, RETURNS; }
static int return_second(environment_t *environment) { return environment->frame->results[0] = 2, RETURNS; }
static int return_third(environment_t *environment) { return environment->frame->results[0] = 3, RETURNS; }

static void *stubs[MANY_STUBS];

static void call_stubs(void) {
  sum_of_results = 0;
  for (int i = 0; i < MANY_STUBS; i++) sum_of_results += ((one_t *)code_at(stubs[i]))(0) != i % 3 + 1;
}

TEST(stubs_are_generated_from_the_first_one_on_after_tn_stubs_generate) {
  environment_t *environment = environment_open();
  tn_stub_counts_t before, after;
  environment->functions[FIRST_FUNCTION] = return_second;
  void *const first = make_stub(describe(FIRST_FUNCTION));
  tn_stub_counts(&before);
  tn_stubs_generate();
  tn_stubs_generate();
  tn_stub_counts(&after);
  CHECK(before.limit == 1048576 && after.limit < before.limit && after.limit > before.limit - 4096);
  CHECK(after.live == before.live && after.dead == before.dead);
  void *const second = make_stub(describe(FIRST_FUNCTION));
  /* The code of the library is in one piece. */
  const uintptr_t distance = (uintptr_t)second - (uintptr_t)first;
  CHECK(distance > LIBRARY_CODE && 0 - distance > LIBRARY_CODE);
  called = second;
  CHECK(enter_code(environment, call_integers) == TN_CALL_RETURNED && integer_result == 2);
  CHECK(tn_stub_close(first) == TN_OK && tn_stub_close(second) == TN_OK);
  tn_stub_counts(&after);
  CHECK(after.live == before.live - 1 && after.dead == before.dead + 2);
  environment_close(environment);
}

TEST(more_stubs_than_the_library_contains_are_generated) {
  environment_t *environment = environment_open();
  tn_stub_counts_t before, after;
  environment->functions[FIRST_FUNCTION] = return_first;
  environment->functions[FIRST_FUNCTION + 1] = return_second;
  environment->functions[FIRST_FUNCTION + 2] = return_third;
  tn_stub_counts(&before);
  for (int i = 0; i < MANY_STUBS; i++) stubs[i] = make_stub(describe(FIRST_FUNCTION + i % 3));
  tn_stub_counts(&after);
  CHECK(after.live == before.live + MANY_STUBS && after.limit == before.limit);
  CHECK(enter_code(environment, call_stubs) == TN_CALL_RETURNED && sum_of_results == 0);
  for (int i = 0; i < MANY_STUBS; i++) CHECK(tn_stub_close(stubs[i]) == TN_OK);
  tn_stub_counts(&after);
  CHECK(after.live == before.live && after.dead >= before.dead + MANY_STUBS - 200);
  enter_code(environment, call_stubs);
  CHECK(sum_of_results == MANY_STUBS);
  environment_close(environment);
}

TEST(descriptions_and_addresses_that_are_not_valid_are_refused) {
  void *stub = NULL;
  tn_stub_description_t description = describe(FIRST_FUNCTION);
  CHECK(tn_stub_create(&description, &stub) == TN_CLOSED);
  environment_t *environment = environment_open();
  CHECK(tn_stub_create(NULL, &stub) == TN_INVALID_ARGUMENT);
  CHECK(tn_stub_create(&description, NULL) == TN_INVALID_ARGUMENT);
  description.stack_size = TN_CALL_STACK_SIZE + 1;
  CHECK(tn_stub_create(&description, &stub) == TN_INVALID_ARGUMENT);
  description.stack_size = TN_CALL_STACK_SIZE;
  description.result_size = 16385;
  CHECK(tn_stub_create(&description, &stub) == TN_INVALID_ARGUMENT);
  description.result_size = 16384;
  description.threads = 3;
  CHECK(tn_stub_create(&description, &stub) == TN_INVALID_ARGUMENT);
  description.threads = TN_THREADS_REFUSE;
  CHECK(tn_stub_create(&description, &stub) == TN_OK && tn_stub_close((char *)stub + 1) == TN_NOT_FOUND);
  CHECK(tn_stub_close(stub) == TN_OK && tn_stub_close(stub) == TN_NOT_FOUND);
  CHECK(tn_stub_close(NULL) == TN_NOT_FOUND && tn_stub_close(environment) == TN_NOT_FOUND);
  environment_close(environment);
}

static int throw_first(environment_t *environment) {
  runs++;
  return environment->data == NULL ? THROWS : RETURNS;
}

static int64_t three_results[3];

static void call_three_times(void) {
  for (int i = 0; i < 3; i++) three_results[i] = ((one_t *)code_at(called))(i);
}

TEST(after_an_error_the_upcalls_of_the_same_call_are_refused) {
  environment_t *environment = environment_open();
  environment->functions[FIRST_FUNCTION] = throw_first;
  tn_stub_description_t description = describe(FIRST_FUNCTION);
  description.refused = 9;
  called = make_stub(description);
  runs = 0;
  CHECK(enter_code(environment, call_three_times) == TN_CALL_THROWN && runs == 1);
  for (int i = 0; i < 3; i++) CHECK(three_results[i] == 9);
  /* The next call runs again. */
  environment->data = environment;
  environment->frame->results[0] = 0;
  CHECK(enter_code(environment, call_three_times) == TN_CALL_RETURNED && runs == 4 && environment->reports == 0);
  environment_close(environment);
}

static void *inner_stub;
static int thrown_inside;

/* Makes a call whose upcalls throw. */
static int call_inside(environment_t *environment) {
  void *const outer = called;
  called = inner_stub;
  thrown_inside += enter_code(environment, call_three_times) == TN_CALL_THROWN;
  called = outer;
  return RETURNS;
}

TEST(an_error_belongs_to_the_innermost_call) {
  environment_t *environment = environment_open();
  environment->functions[FIRST_FUNCTION] = call_inside;
  environment->functions[FIRST_FUNCTION + 1] = throw_first;
  inner_stub = make_stub(describe(FIRST_FUNCTION + 1));
  called = make_stub(describe(FIRST_FUNCTION));
  runs = thrown_inside = 0;
  CHECK(enter_code(environment, call_three_times) == TN_CALL_RETURNED && runs == 3 && thrown_inside == 3);
  environment_close(environment);
}

static int throw_always(environment_t *environment) {
  (void)environment;
  runs++;
  return THROWS;
}

TEST(an_error_without_a_call_is_reported) {
  environment_t *environment = environment_open();
  environment->functions[FIRST_FUNCTION] = throw_always;
  tn_stub_description_t description = describe(FIRST_FUNCTION);
  description.refused = 9;
  called = make_stub(description);
  runs = 0;
  call_three_times();
  CHECK(runs == 3 && environment->reports == 3 && three_results[2] == 9);
  environment_close(environment);
}

static int terminate(environment_t *environment) {
  (void)environment;
  runs++;
  return TERMINATES;
}

TEST(after_a_termination_no_upcall_enters_javascript_until_it_calls_again) {
  environment_t *environment = environment_open();
  environment->functions[FIRST_FUNCTION] = terminate;
  called = make_stub(describe(FIRST_FUNCTION));
  runs = 0;
  enter_code(environment, call_three_times);
  CHECK(runs == 1 && environment->reports == 0 && three_results[2] == 0);
  /* A time-out of a script ends the script, but not the process. */
  enter_code(environment, call_three_times);
  CHECK(runs == 2);
  environment_close(environment);
}
