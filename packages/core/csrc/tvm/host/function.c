/* TypeScript functions as packed functions. */
#include <stdlib.h>

#include "relay.h"

/* How a function takes calls from other threads. */
typedef enum {
  REFUSED = 0,
  RELAYED = 1, /* its thread runs it, and the caller waits */
  ASYNC = 2,   /* as RELAYED, and the caller waits for the answer that JavaScript gives later */
} threads_t;

typedef struct {
  tn_callback_t *callback;  /* one reference */
  tn_packed_stack_t *stack; /* one reference */
  threads_t threads;
  int32_t timeout_ms;
} closure_t;

static void free_closure(void *self) {
  closure_t *closure = self;
  tn_callback_release(closure->callback);
  tn__stack_release(closure->stack);
  free(closure);
}

/* Copies the arguments above the top of the stack, runs the function, and takes what it left in the slot before them. */
static int run_closure(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  const closure_t *closure = self;
  tn_packed_stack_t *stack = closure->stack;
  int32_t base = stack->top;
  if (num_args < 0 || num_args >= TN_STACK_SLOT_COUNT - base)
    return tn__packed_raise("RecursionError", "the argument stack is full: too many arguments, or calls nested too deeply");
  TVMFFIAny *frame = tn__slots(stack) + base;
  frame[0] = (TVMFFIAny){.type_index = kTVMFFINone};
  for (int32_t i = 0; i < num_args; i++) frame[i + 1] = args[i];
  stack->top = base + num_args + 1;
  tn__cross(stack);
  int32_t status = tn_callback_invoke(closure->callback, (void *)(intptr_t)base, (void *)(intptr_t)num_args);
  tn__cross(stack);
  stack->top = base;
  if (status == TN_CLOSED) return tn__packed_raise("ThreadError", "the JavaScript of a TypeScript function has ended");
  if (status != TN_OK) return tn__packed_raise("InternalError", tn_last_error());
  if (stack->raised) {
    stack->raised = 0;
    tn__ffi.TVMFFIErrorSetRaised(frame[0].v_obj);
    tn__ffi.TVMFFIObjectDecRef(frame[0].v_obj);
    return -1;
  }
  /* Plain values are the same lent and owned. */
  if (!stack->owned && frame[0].type_index > kTVMFFIDevice) return tn__ffi.TVMFFIAnyViewToOwnedAny(&frame[0], result);
  stack->owned = 0;
  *result = frame[0];
  return 0;
}

static int call_closure(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  const closure_t *closure = self;
  if (closure->stack == tn__own_stack()) {
    if (closure->threads != ASYNC) return run_closure(self, args, num_args, result);
    return tn__packed_raise("TypeError", "asynchronous function used as packed function: its own thread can't wait for it, "
                                         "only other threads can");
  }
  if (closure->threads == REFUSED)
    return tn__packed_raise("ThreadError", "a TypeScript function was called from a thread that doesn't run its JavaScript");
  const tn__relay_request_t request = {closure->stack, self, run_closure, closure->timeout_ms, closure->threads == ASYNC};
  return tn__relay_call(&request, args, num_args, result);
}

/* Makes a packed function that runs a callback; its object is left in `slot`. The function keeps the callback. `threads` is a
 * threads_t, and callers on other threads wait `timeout_ms` at most: for those the stack's relay is open. 0, or -1 with the error
 * in the slot. */
TN_API int32_t tn_packed_function_create(TVMFFIAny *slot, tn_callback_t *callback, uint32_t threads, uint32_t timeout_ms) {
  closure_t *closure = malloc(sizeof *closure);
  TVMFFIObjectHandle function = NULL;
  if (closure == NULL) {
    tn__packed_raise("MemoryError", "no memory for a function");
    return tn__take_error(slot);
  }
  *closure = (closure_t){callback, tn__stack_of(slot), (threads_t)threads, (int32_t)timeout_ms};
  tn_callback_retain(callback);
  tn__stack_retain(closure->stack);
  if (tn__ffi.TVMFFIFunctionCreate(closure, call_closure, free_closure, &function) != 0) {
    free_closure(closure);
    return tn__take_error(slot);
  }
  *slot = (TVMFFIAny){.type_index = kTVMFFIFunction, .v_obj = function};
  return 0;
}
