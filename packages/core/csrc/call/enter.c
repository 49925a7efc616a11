/* Entering native code from JavaScript, and JavaScript from native code. Native code runs on a stack of its own, because
 * kernels need more than a worker's. TypeScript runs on the stack of JavaScript, below the call that is in progress. */
#include <errno.h>
#include <string.h>

#include "../base/floating_point.h"
#include "environment.h"

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

static void invoke(void *frame) { tn__invoke(frame); }

/* Copies the structs that are passed by reference to this stack, and performs the call. The frame is checked by
 * JavaScript, which alone writes it. */
static void invoke_with_copies(void *data) {
  tn_call_frame_t *frame = data;
  _Alignas(16) uint8_t copies[frame->copy_size];
  uint8_t *words = (uint8_t *)frame;
  for (uint32_t i = 0; i < frame->copy_count; i++) {
    tn_call_copy_t copy;
    memcpy(&copy, frame->copies + i * sizeof copy, sizeof copy);
    memcpy(copies + copy.place, frame->copies + copy.source, copy.size);
    const uint64_t address = (uintptr_t)(copies + copy.place);
    memcpy(words + 4 * (size_t)copy.word, &address, sizeof address);
  }
  tn__invoke(frame);
}

uint32_t tn__perform(tn_call_frame_t *frame) {
  /* Read once, because calls of TypeScript overwrite the frame. */
  const uint32_t flags = frame->flags;
  uint32_t state = TN_CALL_RETURNED;
  void (*const run)(void *) = flags & TN_CALL_COPIES ? invoke_with_copies : invoke;
  if (flags & TN_CALL_ERRNO) errno = 0;
  if (!(flags & TN_CALL_CATCH))
    run(frame);
  else if (tn_guard_call(run, frame) != TN_OK)
    state = TN_CALL_CAUGHT;
  if (flags & TN_CALL_ERRNO) frame->error_number = errno;
  return state;
}

/* A call that needs more than the registers and the stack. */
typedef struct {
  tn_call_frame_t *frame;
  uint32_t state;
} call_t;

static void perform(void *data) {
  call_t *call = data;
  call->state = tn__perform(call->frame);
}

/* An entry, and its result. */
typedef struct {
  int32_t (*run)(void);
  int32_t result;
} entry_t;

static void run_entry(void *data) {
  entry_t *entry = data;
  entry->result = entry->run();
}

/* Runs native code on its own stack. Returns whether TypeScript threw. */
static bool run_native(tn_environment_t *environment, void (*run)(void *data), void *data) {
  void *const outer_script = environment->script_top;
  const bool outer_thrown = environment->has_thrown;
  const uint64_t control = tn__fp_control();
  const uint32_t depth = environment->depth;
  __atomic_store_n(&environment->depth, depth + 1, __ATOMIC_RELAXED);
  if (depth == 0) __atomic_store_n(&environment->calls, environment->calls + 1, __ATOMIC_RELAXED);
  environment->has_thrown = false;
  tn__on_stack(environment->native_top, run, data, &environment->script_top);
  const bool has_thrown = environment->has_thrown;
  environment->has_thrown = outer_thrown;
  environment->script_top = outer_script;
  __atomic_store_n(&environment->depth, depth, __ATOMIC_RELAXED);
  tn__fp_restore(control);
  return has_thrown;
}

void tn_environment_enter(tn_environment_t *environment) {
  tn_call_frame_t *frame = environment->frame;
  uint32_t state = TN_CALL_RETURNED;
  bool has_thrown;
  if ((frame->flags & ~TN_CALL_VECTORS) == 0) {
    has_thrown = run_native(environment, invoke, frame);
  } else {
    call_t call = {frame, TN_CALL_RETURNED};
    has_thrown = run_native(environment, perform, &call);
    state = call.state;
  }
  frame->state = has_thrown ? TN_CALL_THROWN : state;
}

void tn_environment_run(tn_environment_t *environment, int32_t (*run)(void)) {
  entry_t entry = {run, 0};
  const bool has_thrown = run_native(environment, run_entry, &entry);
  environment->frame->error_number = entry.result;
  environment->frame->state = has_thrown ? TN_CALL_THROWN : TN_CALL_RETURNED;
}

void tn_door_enter(void) { tn_environment_enter(tn_environment_current()); }

void tn_door_run(int32_t (*run)(void)) { tn_environment_run(tn_environment_current(), run); }

/* The dispatch of an environment, and its result. */
typedef struct {
  const tn_environment_t *environment;
  int32_t result;
} dispatch_t;

static void dispatch(void *data) {
  dispatch_t *this = data;
  this->result = this->environment->door.dispatch(this->environment->door.data);
}

bool tn__enter_script(tn_environment_t *environment, uint32_t id) {
  if (environment->has_ended) return false;
  environment->frame->state = id;
  dispatch_t this = {environment, 0};
  void *const script = environment->script_top;
  void *const native = environment->native_top;
  const int saved_errno = errno;
  const uint64_t control = tn__fp_control();
  tn__fp_restore(environment->floating_point);
  if (script == NULL) {
    dispatch(&this);
  } else {
    environment->script_top = NULL;
    tn__on_stack(script, dispatch, &this, &environment->native_top);
    environment->script_top = script;
    environment->native_top = native;
  }
  tn__fp_restore(control);
  errno = saved_errno;
  if (this.result == 2) environment->has_ended = true;
  return this.result == 0 && environment->frame->error_number == 0;
}
