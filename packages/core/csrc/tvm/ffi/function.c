/* Packed functions: objects that hold a C function and its state. */
#include "internal.h"
#include "object.h"

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

/* The safe call of the cell. It receives the object, and passes the state of TVMFFIFunctionCreate() on. */
static int call_with_self(void *handle, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  const function_t *function = handle;
  return function->call(function->self, args, num_args, result);
}

int TVMFFIFunctionCreate(void *self, TVMFFISafeCallType safe_call, void (*deleter)(void *self),
                         TVMFFIObjectHandle *out) {
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
  /* This prevents a tail call, because backtraces end at this frame. */
  __asm__ volatile("" ::: "memory");
  return status;
}
