/* TypeScript functions as packed functions. */
#include <stdlib.h>

#include "host.h"

typedef struct {
  tn_callback_t *callback;  /* one reference */
  tn_packed_stack_t *stack; /* one reference */
} closure_t;

static void free_closure(void *self) {
  closure_t *closure = self;
  tn_callback_release(closure->callback);
  tn__stack_release(closure->stack);
  free(closure);
}

/* Copies the arguments above the top of the stack, runs the function, and takes what it left in the slot before them. */
static int call_closure(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  const closure_t *closure = self;
  switch (tn_callback_check(closure->callback)) {
    case TN_OK:
      break;
    case TN_WRONG_THREAD:
      return tn__packed_raise("ThreadError", "a TypeScript function was called from a thread that doesn't run its JavaScript");
    default:
      return tn__packed_raise("ThreadError", "the JavaScript of a TypeScript function has ended");
  }
  tn_packed_stack_t *stack = closure->stack;
  int32_t base = stack->top;
  if (num_args < 0 || num_args >= TN_STACK_SLOT_COUNT - base)
    return tn__packed_raise("RecursionError", "the argument stack is full: too many arguments, or calls nested too deeply");
  TVMFFIAny *frame = tn__slots(stack) + base;
  frame[0] = (TVMFFIAny){.type_index = kTVMFFINone};
  for (int32_t i = 0; i < num_args; i++) frame[i + 1] = args[i];
  stack->top = base + num_args + 1;
  int32_t status = tn_callback_invoke(closure->callback, (void *)(intptr_t)base, (void *)(intptr_t)num_args);
  stack->top = base;
  if (status != TN_OK) return tn__packed_raise("InternalError", tn_last_error());
  if (stack->raised) {
    stack->raised = 0;
    tn__ffi.TVMFFIErrorSetRaised(frame[0].v_obj);
    tn__ffi.TVMFFIObjectDecRef(frame[0].v_obj);
    return -1;
  }
  if (!stack->owned) return tn__ffi.TVMFFIAnyViewToOwnedAny(&frame[0], result);
  stack->owned = 0;
  *result = frame[0];
  return 0;
}

/* Makes a packed function that runs a callback; its object is left in `slot`. The function keeps the callback. 0, or -1
 * with the error in the slot. */
TN_API int32_t tn_packed_function_create(TVMFFIAny *slot, tn_callback_t *callback) {
  closure_t *closure = malloc(sizeof *closure);
  TVMFFIObjectHandle function = NULL;
  if (closure == NULL) {
    tn__packed_raise("MemoryError", "no memory for a function");
    return tn__take_error(slot);
  }
  *closure = (closure_t){callback, tn__stack_of(slot)};
  tn_callback_retain(callback);
  tn__stack_retain(closure->stack);
  if (tn__ffi.TVMFFIFunctionCreate(closure, call_closure, free_closure, &function) != 0) {
    free_closure(closure);
    return tn__take_error(slot);
  }
  *slot = (TVMFFIAny){.type_index = kTVMFFIFunction, .v_obj = function};
  return 0;
}
