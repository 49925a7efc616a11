#include "guarded.h"
#include "error.h"

#include <stdio.h>

int tn__raise_exception(int32_t status) {
  char message[1024];
  snprintf(message, sizeof message, "the function threw a C++ exception: %s", tn_last_error());
  return tn__packed_raise(status == TN_OUT_OF_MEMORY ? "MemoryError" : "InternalError", message);
}

typedef struct {
  int (*run)(void *context);
  void *context;
  int status;
} body_t;

static void run_body(void *data) {
  body_t *body = data;
  body->status = body->run(body->context);
}

int tn__guarded(int (*run)(void *context), void *context) {
  body_t body = {run, context, 0};
  const int32_t status = tn_guard_call(run_body, &body);
  if (status == TN_UNSUPPORTED) return run(context); /* a program in C has installed no guard */
  return status == TN_OK ? body.status : tn__raise_exception(status);
}

typedef struct {
  TVMFFIObjectHandle function;
  TVMFFIAny *args, *result;
  int32_t count;
  int status;
} call_t;

static void run_call(void *data) {
  call_t *call = data;
  call->status = tn__ffi.TVMFFIFunctionCall(call->function, call->args, call->count, call->result);
}

int tn__guarded_call(TVMFFIObjectHandle function, TVMFFIAny *args, int32_t count, TVMFFIAny *result) {
  call_t call = {function, args, result, count, 0};
  const int32_t status = tn_guard_call(run_call, &call);
  if (status == TN_UNSUPPORTED) return tn__ffi.TVMFFIFunctionCall(function, args, count, result);
  if (status == TN_OK) return call.status;
  /* The result that the function has stored is not valid. */
  *result = (TVMFFIAny){.type_index = kTVMFFINone};
  return tn__raise_exception(status);
}
