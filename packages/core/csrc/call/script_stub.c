/* Stubs that run functions of TypeScript. */
#include <string.h>

#include "call/stub_slots.h"
#include "call/stubs.h"
#include "relay.h"

/* Returns where the caller of a stub wants a struct that does not fit into registers. */
static uint64_t result_memory(const tn__registers_t *registers) {
#if defined(__aarch64__)
  return registers->extra;
#else
  return registers->integers[0];
#endif
}

static void refuse(const tn__stub_t *stub, tn__registers_t *registers) {
  tn__stub_count_refused();
  const uint32_t size = TN__STUB_RESULT(stub->shape);
  registers->results[0] = registers->vector_results[0] = size == 0 ? stub->value : result_memory(registers);
  if (size != 0) memset((void *)(uintptr_t)result_memory(registers), 0, size);
}

/* A call of a stub, in the registers and on the stack of its caller. */
typedef struct {
  const tn__stub_t *stub;
  tn__registers_t *registers;
  const void *stack;
  uint64_t live; /* what the stub ran when it was called; it may be dead since then */
} call_t;

static void enter(tn_environment_t *environment, const call_t *call) {
  tn__registers_t *registers = call->registers;
  const uint32_t shape = call->stub->shape;
  tn_call_frame_t *frame = environment->frame;
  frame->extra = registers->extra;
  memcpy(frame->integers, registers->integers, sizeof frame->integers);
  memcpy(frame->vectors, registers->vectors, sizeof frame->vectors);
  if (TN__STUB_WORDS(shape) != 0) memcpy(frame->stack, call->stack, 8 * (size_t)TN__STUB_WORDS(shape));
  if (!tn__enter_script(environment, (uint32_t)call->live)) {
    /* Without a call that could throw the error, it is reported as an uncaught exception. */
    if (environment->depth > 0)
      environment->has_thrown = true;
    else
      tn__enter_script(environment, TN__FUNCTION_REPORT_ERROR);
    refuse(call->stub, registers);
    return;
  }
  memcpy(registers->results, frame->results, sizeof registers->results);
  memcpy(registers->vector_results, frame->vector_results, sizeof registers->vector_results);
  const uint32_t size = TN__STUB_RESULT(shape);
  if (size == 0) return;
  registers->results[0] = result_memory(registers);
  memcpy((void *)(uintptr_t)registers->results[0], frame->stack, size);
}

/* Whether the stub is still what it was when it was called. */
static bool is_live(const void *data) {
  const call_t *call = data;
  return __atomic_load_n(&call->stub->live, __ATOMIC_ACQUIRE) == call->live;
}

/* Runs a call of another thread, unless the stub is dead meanwhile. */
static uint64_t run_relayed(void *data) {
  const call_t *call = data;
  if (is_live(call))
    enter(tn_environment_current(), call);
  else
    refuse(call->stub, call->registers);
  return 0;
}

static void run(const tn__stub_t *stub, tn__registers_t *registers, const void *stack, uint64_t live) {
  call_t call = {stub, registers, stack, live};
  tn_environment_t *environment = tn_environment_current();
  if (environment != NULL && environment->id == live >> 32) {
    if (tn__refuse_in_leaf(environment) || environment->has_thrown)
      refuse(stub, registers);
    else
      enter(environment, &call);
    return;
  }
  const tn_relay_t relay = {
      .environment = live >> 32,
      .threads = TN__STUB_THREADS(stub->shape),
      .timeout_ms = __atomic_load_n(&stub->timeout_ms, __ATOMIC_RELAXED),
      .run = run_relayed,
      .data = &call,
  };
  if (tn__relay(&relay, is_live) == TN_OK) return;
  /* With TN_THREADS_REFUSE, refusing is not a failure. */
  if (relay.threads != TN_THREADS_REFUSE) tn__async_call_refuse();
  refuse(stub, registers);
}

int32_t tn_stub_create(const tn_stub_description_t *description, void **out) {
  TN_REQUIRE(description != NULL && out != NULL, "description and out must not be null");
  const tn_stub_description_t wanted = *description;
  TN_REQUIRE(wanted.stack_size <= TN_CALL_STACK_SIZE && wanted.result_size <= 16384 && wanted.threads <= TN_THREADS_RELAY,
             "the description of the stub is not valid");
  const tn_environment_t *environment = tn_environment_current();
  if (environment == NULL || environment->is_shut) return tn__fail(TN_CLOSED, "this thread is ending");
  tn__stub_behave(TN__STUB_SCRIPT, &(tn__stub_behaviour_t){run, refuse, NULL});
  const tn__stub_t template = {
      .live = environment->id << 32 | wanted.function,
      .value = wanted.refused,
      .shape = (wanted.stack_size + 7) / 8 | wanted.result_size << 13 | wanted.threads << 28 |
               (uint32_t)TN__STUB_SCRIPT << 30 | (wanted.is_reusable ? TN__STUB_REUSABLE : 0),
      .timeout_ms = wanted.timeout_ms,
  };
  *out = tn__stub_make(&template);
  return *out != NULL ? TN_OK : tn__fail(TN_OUT_OF_MEMORY, "the process has used all addresses for stubs");
}

int32_t tn_stub_close(void *stub) {
  if (!tn__stub_close(stub, TN__STUB_SCRIPT)) return tn__fail(TN_NOT_FOUND, "this is no address of a live stub");
  if (tn_environment_current() != NULL) tn__relay_recheck(tn_environment_current());
  return TN_OK;
}
