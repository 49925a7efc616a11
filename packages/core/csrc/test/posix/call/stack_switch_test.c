/* Native code runs on a stack of its own. The functions of TypeScript that it calls run on the stack of JavaScript. */
#include <stdarg.h>
#include <unwind.h>

#include "check.h"
#include "environment.h"

#define NOINLINE __attribute__((noinline))

/* Kernels need more stack than such a thread has. */
#define SMALL_STACK (256 << 10)

#if defined(__x86_64__)
#define INTEGER_REGISTERS 6
#else
#define INTEGER_REGISTERS 8
#endif

typedef struct {
  environment_t *environment;
  const char *near; /* an address in the first frame of the thread */
  void (*stub)(void);
  int depth, deepest;
  uint64_t native[64]; /* addresses of frames of native code, by depth */
  bool is_apart;       /* TypeScript ran on the stack of JavaScript, and native code did not */
  void *caller;        /* the return address of the function that makes a call */
  bool was_found;
  int native_depth;
} state_t;

static state_t state;

/* The first frame is near the top, and the tests use less than half. The native stack may begin right below. */
static bool is_on_script_stack(const void *address) {
  const char *at = address;
  return at <= state.near && state.near - at < SMALL_STACK / 2;
}

typedef struct {
  void (*run)(void);
} thread_t;

static void *run_thread(void *data) {
  const char near = 0;
  state = (state_t){.environment = environment_open(), .near = &near, .is_apart = true};
  ((thread_t *)data)->run();
  environment_close(state.environment);
  return NULL;
}

/* Runs a function on a thread of JavaScript with a small stack. */
static void on_small_stack(void (*run)(void)) {
  pthread_attr_t attributes;
  pthread_t thread;
  thread_t data = {run};
  pthread_attr_init(&attributes);
  if (pthread_attr_setstacksize(&attributes, SMALL_STACK) != 0) abort();
  if (pthread_create(&thread, &attributes, run_thread, &data) != 0 || pthread_join(thread, NULL) != 0) abort();
  pthread_attr_destroy(&attributes);
}

/* Uses so many bytes of stack, and then calls the stub if there is one. */
static NOINLINE uint64_t use_stack(uint64_t size) {
  volatile char bytes[size];
  for (uint64_t i = 0; i < size; i += 4096) bytes[i] = 1;
  bytes[size - 1] = 1;
  if (is_on_script_stack((const void *)bytes)) state.is_apart = false;
  if (state.stub != NULL) state.stub();
  return (uint64_t)bytes[0] + (uint64_t)bytes[size - 1];
}

static void make_stub(function_t *function) {
  state.environment->functions[FIRST_FUNCTION] = function;
  const tn_stub_description_t description = {.function = FIRST_FUNCTION, .timeout_ms = UINT32_MAX, .is_reusable = 1};
  void *stub;
  if (tn_stub_create(&description, &stub) != TN_OK) abort();
  memcpy(&state.stub, &stub, sizeof stub);
}

static void close_stub(void) {
  void *stub;
  memcpy(&stub, &state.stub, sizeof stub);
  if (tn_stub_close(stub) != TN_OK) abort();
}

static void call_large_frame(void) {
  CHECK(environment_call(state.environment, CODE_OF(use_stack), 0, 6 << 20, 0) == TN_CALL_RETURNED);
  CHECK(state.environment->frame->results[0] == 2);
  CHECK(state.is_apart);
}

TEST(a_kernel_with_a_frame_of_6_mebibytes_runs_on_a_thread_with_a_small_stack) { on_small_stack(call_large_frame); }

static int function_below(environment_t *environment) {
  const char local = 0;
  if (!is_on_script_stack(&local)) state.is_apart = false;
  state.depth++;
  environment->frame->results[0] = 0;
  return RETURNS;
}

static void call_back_from_below(void) {
  make_stub(function_below);
  CHECK(environment_call(state.environment, CODE_OF(use_stack), 0, 4 << 20, 0) == TN_CALL_RETURNED);
  CHECK(state.depth == 1);
  CHECK(state.is_apart);
  CHECK(state.environment->frame->results[0] == 2);
  close_stub();
}

TEST(a_callback_below_4_mebibytes_of_native_frames_runs_on_the_stack_of_JavaScript) {
  on_small_stack(call_back_from_below);
}

/* Native code and TypeScript that call each other. */
static NOINLINE uint64_t native_step(uint64_t depth) {
  const char local = 0;
  state.native[depth] = (uint64_t)(uintptr_t)&local;
  if (is_on_script_stack(&local)) state.is_apart = false;
  if (depth + 1 < 64) state.stub();
  /* The frame of this call is intact. */
  return state.native[depth] == (uint64_t)(uintptr_t)&local ? depth : 0;
}

static int script_step(environment_t *environment) {
  const char local = 0;
  if (!is_on_script_stack(&local)) state.is_apart = false;
  const uint64_t depth = (uint64_t)++state.depth;
  if (environment_call(environment, CODE_OF(native_step), 0, depth, 0) != TN_CALL_RETURNED) abort();
  if (environment->frame->results[0] == depth) state.deepest++;
  return RETURNS;
}

static void call_nested(void) {
  make_stub(script_step);
  CHECK(environment_call(state.environment, CODE_OF(native_step), 0, 0, 0) == TN_CALL_RETURNED);
  CHECK(state.depth == 63);
  CHECK(state.deepest == 63);
  CHECK(state.is_apart);
  for (int i = 1; i < 64; i++) CHECK(state.native[i] < state.native[i - 1]);
  close_stub();
}

TEST(nested_calls_share_the_native_stack_and_the_stack_of_JavaScript) { on_small_stack(call_nested); }

static _Unwind_Reason_Code compare_caller(struct _Unwind_Context *context, void *unused) {
  (void)unused;
  if ((uintptr_t)_Unwind_GetIP(context) == (uintptr_t)state.caller) state.was_found = true;
  return _URC_NO_REASON;
}

/* Finds the function that made the call among the callers of this one. */
static NOINLINE void look_for_caller(void) {
  state.was_found = false;
  _Unwind_Backtrace(compare_caller, NULL);
}

static int look_from_script(environment_t *environment) {
  (void)environment;
  look_for_caller();
  return RETURNS;
}

static NOINLINE uint64_t look_from_native(uint64_t calls_back) {
  if (calls_back)
    state.stub();
  else
    look_for_caller();
  return 1;
}

static NOINLINE uint32_t call_unwinder(uint64_t calls_back) {
  state.caller = __builtin_return_address(0);
  const uint32_t status = environment_call(state.environment, CODE_OF(look_from_native), 0, calls_back, 0);
  __asm__ volatile("" ::: "memory"); /* no tail call */
  return status;
}

static void unwind(void) {
  CHECK(call_unwinder(0) == TN_CALL_RETURNED);
  CHECK(state.was_found);
  make_stub(look_from_script);
  CHECK(call_unwinder(1) == TN_CALL_RETURNED);
  CHECK(state.was_found);
  close_stub();
}

TEST(debuggers_and_exceptions_unwind_through_both_switches) { on_small_stack(unwind); }

#if !defined(__APPLE__) /* Apple passes all variadic arguments on the stack. */
static uint64_t sum(uint64_t count, ...) {
  va_list list;
  va_start(list, count);
  uint64_t total = 0;
  for (uint64_t i = 0; i < count; i++) total += va_arg(list, uint64_t) * (i + 1);
  va_end(list);
  return total;
}

static void fill_stack_area(void) {
  const uint64_t in_registers = INTEGER_REGISTERS - 1, count = in_registers + TN_CALL_STACK_SIZE / 8;
  tn_call_frame_t *frame = state.environment->frame;
  uint64_t expected = 0;
  for (uint64_t i = 0; i < count; i++) {
    const uint64_t value = i * 0x9e3779b97f4a7c15u;
    expected += value * (i + 1);
    if (i < in_registers)
      frame->integers[i + 1] = value;
    else
      memcpy(frame->stack + 8 * (i - in_registers), &value, sizeof value);
  }
  frame->target = CODE_OF(sum);
  frame->flags = 0;
  frame->extra = 0;
  frame->stack_size = TN_CALL_STACK_SIZE;
  frame->integers[0] = count;
  tn_driver_enter();
  CHECK(frame->state == TN_CALL_RETURNED);
  CHECK(frame->results[0] == expected);
}

TEST(all_32768_bytes_of_stack_arguments_arrive) { on_small_stack(fill_stack_area); }
#endif

static uint64_t change_struct(uint64_t first, unsigned char *second) {
  const char *frame = (const char *)state.environment->frame, *struct_ = (const char *)second;
  const bool is_outside = struct_ < frame || struct_ >= frame + sizeof(tn_call_frame_t);
  const uint64_t result = is_outside && (uintptr_t)second % 16 == 0 && second[0] == 7 && second[99] == 9 ? first : 0;
  memset(second, 0xff, 100);
  return result;
}

static void pass_copy(void) {
  tn_call_frame_t *frame = state.environment->frame;
  /* The second integer register has the address. */
  const tn_call_copy_t copy = {
      .word = (uint32_t)(offsetof(tn_call_frame_t, integers) / 4) + 2, .source = sizeof copy, .size = 100, .place = 16};
  frame->copy_count = 1;
  frame->copy_size = 128;
  memcpy(frame->copies, &copy, sizeof copy);
  memset(frame->copies + sizeof copy, 0, 100);
  frame->copies[sizeof copy] = 7;
  frame->copies[sizeof copy + 99] = 9;
  CHECK(environment_call(state.environment, CODE_OF(change_struct), TN_CALL_COPIES, 5, 0) == TN_CALL_RETURNED);
  CHECK(frame->results[0] == 5);
  CHECK(frame->copies[sizeof copy] == 7);
}

TEST(structs_that_are_passed_by_reference_are_copied_to_the_stack_of_the_call) { on_small_stack(pass_copy); }
