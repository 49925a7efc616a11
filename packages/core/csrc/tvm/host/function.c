/* Packed functions that run TypeScript functions. */
#include <stdlib.h>

#include "error.h"
#include "relay.h"

typedef struct {
  tn_callback_t *callback;  /* retained */
  tn_packed_stack_t *stack; /* used on its own thread alone */
  tn__stack_life_t *life;   /* retained */
  uint32_t threads;         /* TN_PACKED_THREADS_* */
  uint32_t timeout_ms;
} closure_t;

static void free_closure(void *self) {
  closure_t *closure = self;
  tn_callback_release(closure->callback);
  /* On any thread: that of the function lets go of its captured values when it sees the flag. */
  tn__stack_notify(closure->life);
  tn__stack_release(closure->life);
  free(closure);
}

/* Copies the arguments above the stack's top, runs the function, and takes the result from the slot before them. */
static int run_closure(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  const closure_t *closure = self;
  tn_packed_stack_t *stack = closure->stack;
  int32_t base = stack->head.top;
  if (num_args < 0 || num_args >= TN_PACKED_SLOT_COUNT - base)
    return tn__packed_raise("RecursionError",
                            "the argument stack is full: too many arguments, or calls nested too deeply");
  TVMFFIAny *frame = tn__slots(stack) + base;
  frame[0] = (TVMFFIAny){.type_index = kTVMFFINone};
  for (int32_t i = 0; i < num_args; i++) frame[i + 1] = args[i];
  stack->head.top = base + num_args + 1;
  int32_t status = tn_callback_invoke(closure->callback, (void *)(intptr_t)base, (void *)(intptr_t)num_args);
  stack->head.top = base;
  if (status == TN_CLOSED)
    return tn__packed_raise("ThreadError", "the thread that owns this TypeScript function has ended");
  /* Errors of the function are in the slot, so that only a full stack ends the code around it. */
  if (status == TN_CALLBACK_FAILED)
    return tn__packed_raise("RecursionError",
                            "calls between JavaScript and native code are nested too deeply for the stack");
  if (status != TN_OK) return tn__packed_raise("InternalError", tn_last_error());
  if (stack->head.raised) {
    stack->head.raised = 0;
    tn__ffi.TVMFFIErrorSetRaised(frame[0].v_obj);
    tn__ffi.TVMFFIObjectDecRef(frame[0].v_obj);
    return -1;
  }
  /* A plain value is the same whether borrowed or owned. */
  if (!stack->head.owned && frame[0].type_index > kTVMFFIDevice)
    return tn__ffi.TVMFFIAnyViewToOwnedAny(&frame[0], result);
  stack->head.owned = 0;
  *result = frame[0];
  return 0;
}

static int call_closure(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  const closure_t *closure = self;
  const bool is_async = closure->threads == TN_PACKED_THREADS_ASYNC;
  const uint64_t environment = tn_callback_environment(closure->callback);
  if (environment == tn_environment_id()) {
    if (!is_async) return run_closure(self, args, num_args, result);
    return tn__packed_raise("TypeError", "an asynchronous function cannot be called on its own thread, which would "
                                         "wait for itself: call it from another thread");
  }
  if (closure->threads == TN_PACKED_THREADS_REFUSE)
    return tn__packed_raise("ThreadError", "this TypeScript function can only be called on its own thread: create it "
                                           "with the option relay to accept calls from other threads");
  const tn__relay_request_t request = {environment, closure->stack, self, run_closure, closure->timeout_ms, is_async};
  return tn__relay_call(&request, args, num_args, result);
}

int32_t tn_packed_function_create(TVMFFIAny *slot, tn_callback_t *callback, uint32_t threads, uint32_t timeout_ms) {
  closure_t *closure = malloc(sizeof *closure);
  TVMFFIObjectHandle function = NULL;
  if (closure == NULL) return tn__packed_fail(slot, "MemoryError", "out of memory for a function");
  tn_packed_stack_t *stack = tn__stack_of(slot);
  *closure = (closure_t){callback, stack, stack->life, threads, timeout_ms};
  tn_callback_retain(callback);
  tn__stack_retain(closure->life);
  int status = tn__ffi.TVMFFIFunctionCreate(closure, call_closure, free_closure, &function);
  if (status != 0) free_closure(closure);
  return tn__leave(slot, status, kTVMFFIFunction, function);
}
