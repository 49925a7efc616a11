/* Packed functions: objects around a C function and its state. */
#include "internal.h"

typedef struct {
  TVMFFIObject head;
  TVMFFIFunctionCell cell;
  void *self;
  TVMFFISafeCallType call;
  void (*release)(void *self);
} function_t;

static void function_destroy(function_t *function) {
  if (function->release != NULL) function->release(function->self);
}
TN_DELETER(function_deleter, function_destroy)

/* What the cell calls gets the object; what was given to TVMFFIFunctionCreate gets its own state. */
static int call_with_self(void *handle, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  const function_t *function = handle;
  return function->call(function->self, args, num_args, result);
}

int TVMFFIFunctionCreate(void *self, TVMFFISafeCallType safe_call, void (*deleter)(void *self), TVMFFIObjectHandle *out) {
  function_t *function = tn__object_new(sizeof *function, kTVMFFIFunction, function_deleter);
  if (function == NULL) return tn__no_memory();
  function->cell.safe_call = call_with_self;
  function->self = self;
  function->call = safe_call;
  function->release = deleter;
  *out = function;
  return 0;
}

int TVMFFIFunctionCall(TVMFFIObjectHandle handle, TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  int status = ((const function_t *)handle)->cell.safe_call(handle, args, num_args, result);
  /* Not a tail call: backtraces end where this frame is. */
  __asm__ volatile("" ::: "memory");
  return status;
}
