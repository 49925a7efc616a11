/* Entering native code from JavaScript, and JavaScript from native code. Native code runs on a stack of its own, because
 * kernels need more than a worker's. TypeScript runs on the stack of JavaScript, below the call that is in progress. */
#include <errno.h>
#include <string.h>

#include "base/direction_flag.h"
#include "base/floating_point.h"
#include "base/stacks.h"
#include "call/guard.h"
#include "stack_switch.h"

/* Functions that are not inlined, so that the frequent path saves only the registers that it needs. */
#define TN__APART __attribute__((noinline))
#define TN__RARE __attribute__((noinline, cold))

_Static_assert(sizeof(tn_call_frame_t) == TN_CALL_FRAME_SIZE, "JavaScript allocates the frame");

#define OFFSET(member, offset) \
  _Static_assert(offsetof(tn_call_frame_t, member) == (offset), #member " has this offset in the assembly")
OFFSET(flags, 8);
OFFSET(stack_size, 12);
OFFSET(extra, 16);
OFFSET(results, 32);
OFFSET(vector_results, 48);
OFFSET(integers, 80);
OFFSET(vectors, 144);
OFFSET(stack, 208);

/* Ends an exception of the target, if it threw one, and returns how the call has ended. */
static uint32_t settle(tn_call_frame_t *frame, uint32_t has_thrown) {
  if (!has_thrown) return TN_CALL_RETURNED;
  void *exception = (void *)(uintptr_t)frame->results[0];
  tn__guard_take(exception);
  return exception == NULL ? TN_CALL_ENDED : TN_CALL_CAUGHT;
}

/* Copies the structs that are passed by reference to this stack, and calls the target. The frame is checked by
 * JavaScript, which alone writes it. */
static uint32_t invoke_with_copies(tn_call_frame_t *frame) {
  _Alignas(16) uint8_t copies[frame->copy_size];
  uint8_t *words = (uint8_t *)frame;
  for (uint32_t i = 0; i < frame->copy_count; i++) {
    tn_call_copy_t copy;
    memcpy(&copy, frame->copies + i * sizeof copy, sizeof copy);
    memcpy(copies + copy.place, frame->copies + copy.source, copy.size);
    const uint64_t address = (uintptr_t)(copies + copy.place);
    memcpy(words + 4 * (size_t)copy.word, &address, sizeof address);
  }
  return tn__invoke(frame);
}

uint32_t tn__perform(tn_call_frame_t *frame) {
  /* Read once, because calls of TypeScript overwrite the frame. */
  const uint32_t flags = frame->flags;
  if (flags & TN_CALL_ERRNO) errno = 0;
  const uint32_t has_thrown = flags & TN_CALL_COPIES ? invoke_with_copies(frame) : tn__invoke(frame);
  if (flags & TN_CALL_ERRNO) frame->error_number = errno;
  return settle(frame, has_thrown);
}

void tn_call_perform(tn_call_frame_t *frame) {
  frame->state = tn__perform(frame);
  tn__direction_clear();
  if (frame->state != TN_CALL_RETURNED) frame->results[0] = (uint64_t)TN_EXCEPTION;
}

static uint32_t perform(void *frame) { return tn__perform(frame); }

/* What a nested call needs at least of the native stack, with its guard. Recursion through both languages ends with an
 * error then, as in JavaScript alone. */
#define LEAST_STACK (2u << 20)

static bool is_stack_full(const tn_environment_t *environment) {
  return (size_t)((const uint8_t *)environment->native.top - (const uint8_t *)environment->native.memory) < LEAST_STACK;
}

/* Runs native code in a call, or `in_place` on the stack of the thread. Returns what `run` returns. */
TN__RARE static uint32_t run_general(tn_environment_t *environment, uint32_t (*run)(void *data), void *data,
                                     bool in_place, bool *has_thrown) {
  void *const outer_script = environment->script_top;
  const bool outer_thrown = environment->has_thrown, was_in_place = environment->is_in_place;
  const uint32_t depth = environment->depth;
  if (in_place) environment->is_in_place = true;
  if (depth != 0 && !environment->is_in_place && is_stack_full(environment)) {
    tn__enter_script(environment, TN__FUNCTION_STACK_FULL);
    *has_thrown = true;
    return 0;
  }
  __atomic_store_n(&environment->depth, depth + 1, __ATOMIC_RELAXED);
  if (depth == 0) __atomic_store_n(&environment->calls, environment->calls + 1, __ATOMIC_RELAXED);
  if (depth == 0 && !in_place) environment->is_in_place = tn__stacks_are_scanned();
  environment->has_thrown = false;
  environment->is_terminating = false;
  void *const top = environment->is_in_place ? TN__BELOW() : environment->native.top;
  const uint32_t result = tn__switch_stack(environment, top, run, data, &environment->script_top);
  *has_thrown = environment->has_thrown;
  environment->has_thrown = outer_thrown;
  environment->script_top = outer_script;
  if (in_place) environment->is_in_place = was_in_place;
  __atomic_store_n(&environment->depth, depth, __ATOMIC_RELAXED);
  tn__floating_point_restore(environment->floating_point);
  tn__direction_clear();
  return result;
}

/* Runs native code on its own stack, and returns what `run` returns. Most calls are outermost ones, which find nothing to restore but the
 * state of the processor. */
static inline uint32_t run_native(tn_environment_t *environment, uint32_t (*run)(void *data), void *data,
                                  bool *has_thrown) {
  if (environment->depth != 0 || tn__stacks_are_scanned())
    return run_general(environment, run, data, false, has_thrown);
  __atomic_store_n(&environment->depth, 1, __ATOMIC_RELAXED);
  __atomic_store_n(&environment->calls, environment->calls + 1, __ATOMIC_RELAXED);
  environment->is_in_place = false;
  /* JavaScript runs again, for example after a time-out of a script that the process survives. */
  environment->is_terminating = false;
  const uint32_t result =
      tn__switch_stack(environment, environment->native.top, run, data, &environment->script_top);
  *has_thrown = environment->has_thrown;
  environment->has_thrown = false;
  environment->script_top = NULL;
  __atomic_store_n(&environment->depth, 0, __ATOMIC_RELAXED);
  /* JavaScript always runs with the bits that it started with, so they are not read before the call, too. */
  tn__floating_point_restore(environment->floating_point);
  tn__direction_clear();
  return result;
}

static uint32_t run_slowly(tn_environment_t *environment, tn_call_frame_t *frame, bool *has_thrown) {
  if ((frame->flags & TN_CALL_IN_PLACE) != 0 && tn__has_free_stack(LEAST_STACK))
    return run_general(environment, perform, frame, true, has_thrown);
  return run_native(environment, perform, frame, has_thrown);
}

static uint32_t break_leaf(const char *what) {
  tn__fail(TN_INVALID_ARGUMENT, "%s", what);
  return TN_CALL_BROKEN;
}

/* Runs a leaf and finds out whether it changed the floating-point modes, which are restored after it. */
static uint32_t check_leaf(void *frame) {
  tn_environment_t *environment = tn_environment_current();
  const tn__floating_point_t control = tn__floating_point_save();
  environment->is_in_leaf = true;
  const uint32_t state = tn__perform(frame);
  environment->is_in_leaf = false;
  if (state != TN_CALL_RETURNED || !tn__floating_point_differs(tn__floating_point_save(), control)) return state;
  return break_leaf("changed the floating-point modes");
}

/* Performs a call that is not a plain one, and stores how it has ended. */
TN__RARE static void enter_slowly(tn_environment_t *environment, tn_call_frame_t *frame) {
  bool has_thrown;
  const uint32_t state = run_slowly(environment, frame, &has_thrown);
  frame->state = has_thrown ? TN_CALL_THROWN : state;
}

/* Runs a leaf that has more than arguments. Returns how the call has ended. */
TN__RARE static uint32_t run_leaf_slowly(tn_environment_t *environment, tn_call_frame_t *frame) {
  uint32_t state;
  if (frame->flags & TN_CALL_CHECKED) {
    bool has_thrown;
    state = run_native(environment, check_leaf, frame, &has_thrown);
    /* There is no room on the stack. */
    return has_thrown ? TN_CALL_THROWN : state;
  }
  environment->is_in_leaf = true;
  state = tn__perform(frame);
  environment->is_in_leaf = false;
  return state;
}

/* Returns how a leaf has ended that called a function of TypeScript. */
TN__RARE static uint32_t end_left_leaf(tn_environment_t *environment) {
  environment->has_left_leaf = false;
  return break_leaf("called a function of TypeScript");
}

/* Runs a leaf on the stack of JavaScript. */
TN__APART static void enter_leaf(tn_environment_t *environment, tn_call_frame_t *frame) {
  uint32_t state;
  if ((frame->flags & (TN_CALL_CHECKED | TN_CALL_ERRNO | TN_CALL_COPIES)) != 0) {
    state = run_leaf_slowly(environment, frame);
  } else {
    environment->is_in_leaf = true;
    state = settle(frame, tn__invoke(frame));
    environment->is_in_leaf = false;
  }
  frame->state = environment->has_left_leaf ? end_left_leaf(environment) : state;
}

TN__APART static void enter_plain(tn_environment_t *environment, tn_call_frame_t *frame) {
  bool has_thrown;
  const uint32_t state = settle(frame, run_native(environment, tn__invoke, frame, &has_thrown));
  frame->state = has_thrown ? TN_CALL_THROWN : state;
}

void tn_environment_enter(tn_environment_t *environment) {
  tn_call_frame_t *frame = environment->frame;
  const uint32_t flags = frame->flags;
  if ((flags & ~TN_CALL_VECTORS) == 0)
    enter_plain(environment, frame);
  else if ((flags & TN_CALL_LEAF) != 0)
    enter_leaf(environment, frame);
  else
    enter_slowly(environment, frame);
}

/* Calls an entry on the native stack. */
static inline uint32_t run_entry(tn_environment_t *environment, int32_t (*entry)(tn_call_frame_t *frame),
                                 bool *has_thrown) {
#if defined(_WIN32)
  /* Windows unwinds only frames of the stack in use, so the frame that catches exceptions is there. */
  void *call[] = {(void *)(uintptr_t)entry, environment->frame};
  return run_native(environment, tn__run_entry, call, has_thrown);
#else
  /* The calling convention is the same, and the assembly that switches the stack makes the call. */
  uint32_t (*const run)(void *) = (uint32_t (*)(void *))(void (*)(void))entry;
  return run_native(environment, run, environment->frame, has_thrown);
#endif
}

void tn_environment_run(tn_environment_t *environment, int32_t (*entry)(tn_call_frame_t *frame)) {
  tn_call_frame_t *frame = environment->frame;
  bool has_thrown;
  const uint32_t result = run_entry(environment, entry, &has_thrown);
  frame->error_number = (int32_t)result;
  if (!environment->has_caught) {
    frame->state = has_thrown ? TN_CALL_THROWN : TN_CALL_RETURNED;
    return;
  }
  environment->has_caught = false;
  frame->state = has_thrown ? TN_CALL_THROWN_AND_CAUGHT : TN_CALL_CAUGHT;
}

void tn_driver_enter(void) { tn_environment_enter(tn_environment_current()); }

void tn_driver_run(int32_t (*entry)(tn_call_frame_t *frame)) { tn_environment_run(tn_environment_current(), entry); }

/* Runs a function of TypeScript on the stack of the call that native code has left. */
static uint32_t dispatch_in_call(void *data) {
  const tn_environment_t *environment = data;
  return (uint32_t)environment->driver.dispatch(environment->driver.data, 1);
}

/* Has the function run for the job that relays it. Calls of that function are its own. */
static void enter_for_job(tn_environment_t *environment) {
  tn_call_frame_t *frame = environment->frame;
  frame->target = (uint64_t)frame->state << 32 | (uint32_t)environment->job;
  frame->state = TN_FUNCTION_FOR_JOB;
  environment->job = 0;
}

bool tn__enter_script(tn_environment_t *environment, uint32_t id) {
  if (tn__refuse_in_leaf(environment)) return false;
  if (environment->is_terminating || environment->is_closed) return false;
  environment->frame->state = id;
  if (environment->job != 0) enter_for_job(environment);
  uint32_t result;
  void *const script = environment->script_top;
  void *const native = environment->native.top;
  const int saved_errno = errno;
  const tn__floating_point_t control = tn__floating_point_save();
  /* Reading the bits costs more than the rest of this function, and JavaScript does not change them. */
  const bool differs = tn__floating_point_differs(control, environment->floating_point);
  if (differs) tn__floating_point_restore(environment->floating_point);
  tn__direction_clear();
  if (script == NULL) {
    result = (uint32_t)environment->driver.dispatch(environment->driver.data, 0);
  } else {
    environment->script_top = NULL;
    void *const top = environment->is_in_place ? TN__BELOW() : script;
    result = tn__switch_stack(environment, top, dispatch_in_call, environment, &environment->native.top);
    environment->script_top = script;
    environment->native.top = native;
  }
  if (differs) tn__floating_point_restore(control);
  errno = saved_errno;
  if (result == 2) environment->is_terminating = true;
  return result == 0 && environment->frame->error_number == 0;
}
