/* async_call.c, completion.c: calls on threads of the pool, and the ends of work on other threads. */
#include <errno.h>

#include "check.h"
#include "environment.h"

enum { CALLS = 500 };

static void describe_call(environment_t *environment, uint64_t target, uint32_t flags, uint64_t first,
                          uint64_t second) {
  tn_call_frame_t *frame = environment->frame;
  frame->target = target;
  frame->flags = flags;
  frame->stack_size = 0;
  frame->extra = 0;
  frame->integers[0] = first;
  frame->integers[1] = second;
}

static int64_t add(int64_t a, int64_t b) { return a + b; }

static int64_t set_errno(int64_t value) {
  errno = (int)value;
  return value;
}

/* What the last completion has left in the frame. */
static tn_call_frame_t last;
static uint64_t sum;

static int read_results(environment_t *environment) {
  memcpy(&last, environment->frame, offsetof(tn_call_frame_t, stack));
  sum += last.results[0];
  return environment_job_done(environment);
}

TEST(a_call_runs_on_another_thread_and_completes_with_its_results) {
  environment_t *environment = environment_open();
  environment->functions[JOB_DONE] = read_results;
  describe_call(environment, CODE_OF(add), 0, 40, 2);
  CHECK(tn_call_submit(7) == TN_OK);
  /* The frame was copied. */
  describe_call(environment, CODE_OF(set_errno), TN_CALL_ERRNO, 1, 1);
  CHECK(environment_await(environment, 1));
  CHECK(environment->ids[0] == 7 && environment->statuses[0] == TN_CALL_RETURNED && last.results[0] == 42);
  environment_close(environment);
}

TEST(errno_is_that_of_the_thread_of_the_call) {
  environment_t *environment = environment_open();
  environment->functions[JOB_DONE] = read_results;
  describe_call(environment, CODE_OF(set_errno), TN_CALL_ERRNO, ERANGE, 0);
  errno = 0;
  CHECK(tn_call_submit(1) == TN_OK && environment_await(environment, 1));
  CHECK((int)last.integers[2] == ERANGE);
  environment_close(environment);
}

TEST(every_call_completes_once) {
  environment_t *environment = environment_open();
  bool has_ended[CALLS] = {false};
  environment->functions[JOB_DONE] = read_results;
  sum = 0;
  for (uint64_t i = 0; i < CALLS; i++) {
    describe_call(environment, CODE_OF(add), 0, i, 1);
    CHECK(tn_call_submit(i) == TN_OK);
    if (i % 64 == 0) tn_environment_serve();
  }
  CHECK(environment_await(environment, CALLS));
  sleep_ms(20);
  tn_environment_serve();
  CHECK(environment->completions == CALLS && sum == (uint64_t)CALLS * (CALLS - 1) / 2 + CALLS);
  for (int i = 0; i < CALLS; i++) {
    CHECK(environment->ids[i] < CALLS && !has_ended[environment->ids[i]]);
    has_ended[environment->ids[i]] = true;
  }
  environment_close(environment);
}

typedef struct {
  uint8_t bytes[24];
} copied_t;

static int64_t change_copy(copied_t *copy) {
  const int64_t first = copy->bytes[0], last_byte = copy->bytes[23];
  memset(copy, 0, sizeof *copy);
  return first * 1000 + last_byte;
}

TEST(a_struct_that_is_passed_by_reference_is_copied_for_the_call) {
  environment_t *environment = environment_open();
  tn_call_frame_t *frame = environment->frame;
  environment->functions[JOB_DONE] = read_results;
  describe_call(environment, CODE_OF(change_copy), TN_CALL_COPIES, 0, 0);
  const tn_call_copy_t copy = {
      .word = offsetof(tn_call_frame_t, integers) / 4, .source = sizeof copy, .size = sizeof(copied_t), .place = 0};
  frame->copy_count = 1;
  frame->copy_size = 32;
  memcpy(frame->copies, &copy, sizeof copy);
  memset(frame->copies + sizeof copy, 7, sizeof(copied_t));
  frame->copies[sizeof copy + 23] = 9;
  CHECK(tn_call_submit(1) == TN_OK && environment_await(environment, 1) && last.results[0] == 7009);
  CHECK(frame->copies[sizeof copy] == 7);
  environment_close(environment);
}

static atomic_int gate_is_open, begun;

static int64_t wait_at_gate(int64_t value) {
  atomic_fetch_add(&begun, 1);
  while (!atomic_load(&gate_is_open)) sleep_ms(1);
  return value;
}

static uint64_t thread_limit(void) {
  tn_jobs_counts_t counts;
  tn_jobs_counts(&counts);
  return counts.limit;
}

TEST(as_many_calls_as_threads_can_wait_for_each_other) {
  environment_t *environment = environment_open();
  const uint64_t limit = thread_limit();
  atomic_store(&gate_is_open, 0);
  atomic_store(&begun, 0);
  for (uint64_t i = 0; i < limit + 5; i++) {
    describe_call(environment, CODE_OF(wait_at_gate), 0, i, 0);
    CHECK(tn_call_submit(i) == TN_OK);
  }
  while ((uint64_t)atomic_load(&begun) < limit) sleep_ms(1);
  tn_environment_serve();
  CHECK(environment->completions == 0);
  atomic_store(&gate_is_open, 1);
  CHECK(environment_await(environment, limit + 5));
  environment_close(environment);
}

static void *open_gate_later(void *unused) {
  sleep_ms(60);
  atomic_store(&gate_is_open, 1);
  return unused;
}

TEST(the_end_of_a_thread_removes_queued_calls_and_waits_for_running_ones) {
  environment_t *environment = environment_open();
  const int limit = (int)thread_limit();
  test_thread_t opener;
  atomic_store(&gate_is_open, 0);
  atomic_store(&begun, 0);
  for (int i = 0; i < limit + 5; i++) {
    describe_call(environment, CODE_OF(wait_at_gate), 0, 0, 0);
    CHECK(tn_call_submit(1) == TN_OK);
  }
  while (atomic_load(&begun) < limit) sleep_ms(1);
  CHECK(thread_start(&opener, open_gate_later, NULL));
  environment_close(environment);
  CHECK(atomic_load(&gate_is_open) == 1 && atomic_load(&begun) == limit);
  thread_join(&opener);
}

TEST(a_thread_without_an_environment_submits_nothing) { CHECK(tn_call_submit(1) == TN_CLOSED); }

static uint64_t call_stub(void *stub, uint64_t argument) {
  uint64_t (*function)(uint64_t) = NULL;
  memcpy(&function, &stub, sizeof stub);
  return function(argument);
}

static int double_it(environment_t *environment) {
  environment->frame->results[0] = 2 * environment->frame->integers[0];
  return RETURNS;
}

TEST(upcalls_of_an_asynchronous_call_come_from_another_thread) {
  environment_t *environment = environment_open();
  tn_stub_description_t description = {
      .function = FIRST_FUNCTION, .threads = TN_THREADS_RELAY, .timeout_ms = UINT32_MAX};
  void *stub = NULL;
  environment->functions[JOB_DONE] = read_results;
  environment->functions[FIRST_FUNCTION] = double_it;
  CHECK(tn_stub_create(&description, &stub) == TN_OK);
  describe_call(environment, CODE_OF(call_stub), 0, (uintptr_t)stub, 21);
  CHECK(tn_call_submit(1) == TN_OK && environment_await(environment, 1) && last.results[0] == 42);
  description.threads = TN_THREADS_REFUSE;
  description.refused = 9;
  CHECK(tn_stub_create(&description, &stub) == TN_OK);
  describe_call(environment, CODE_OF(call_stub), 0, (uintptr_t)stub, 21);
  CHECK(tn_call_submit(2) == TN_OK && environment_await(environment, 2) && last.results[0] == 9);
  environment_close(environment);
}

/* A completion of a test, and the frame that its function has received. */
typedef struct {
  tn_completion_t completion;
  tn_call_frame_t *frame;
  atomic_int finishes;
} done_t;

static void finish(tn_completion_t *completion, tn_call_frame_t *frame) {
  done_t *done = (done_t *)completion;
  done->frame = frame;
  if (frame != NULL) frame->integers[2] = 99;
  atomic_fetch_add(&done->finishes, 1);
}

static void *post_completion(void *data) {
  void **both = data;
  tn_completion_post((uint64_t)(uintptr_t)both[0], both[1]);
  return NULL;
}

TEST(a_completion_writes_results_and_then_runs_the_function_of_its_job) {
  environment_t *environment = environment_open();
  done_t done = {.completion = {.id = 5, .status = -3, .finish = finish}};
  test_thread_t thread;
  void *both[] = {(void *)(uintptr_t)environment->id, &done};
  environment->functions[JOB_DONE] = read_results;
  CHECK(thread_start(&thread, post_completion, both));
  CHECK(environment_await(environment, 1));
  thread_join(&thread);
  CHECK(environment->ids[0] == 5 && environment->statuses[0] == -3 && last.integers[2] == 99);
  CHECK(done.finishes == 1 && done.frame == environment->frame);
  environment_close(environment);
}

TEST(a_completion_without_a_reader_is_finished_without_a_frame) {
  environment_t *environment = environment_open();
  const uint64_t id = environment->id;
  done_t waiting = {.completion = {.finish = finish}}, late = {.completion = {.finish = finish}};
  waiting.frame = late.frame = environment->frame;
  tn_completion_post(id, &waiting.completion);
  tn_environment_shut();
  CHECK(waiting.finishes == 1 && waiting.frame == NULL && environment->completions == 0);
  environment_close(environment);
  tn_completion_post(id, &late.completion);
  CHECK(late.finishes == 1 && late.frame == NULL);
}

static int throw(environment_t *environment) {
  environment->completions++;
  return THROWS;
}

TEST(an_error_of_a_continuation_is_reported) {
  environment_t *environment = environment_open();
  done_t done = {.completion = {.finish = finish}};
  environment->functions[JOB_DONE] = throw;
  tn_completion_post(environment->id, &done.completion);
  CHECK(environment_await(environment, 1) && environment->reports == 1);
  environment_close(environment);
}
