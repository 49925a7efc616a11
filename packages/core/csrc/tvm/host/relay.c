/* Calls of TypeScript functions from other threads, which wait for the thread of the function. */
#include "relay.h"
#include "error.h"

/* A call of another thread, on its stack. */
typedef struct {
  const tn__relay_request_t *request;
  const TVMFFIAny *args;
  int32_t num_args;
  int status;
  TVMFFIAny result;         /* owned */
  TVMFFIObjectHandle error; /* owned, or null */
} call_t;

/* Runs on the thread of the function. An asynchronous function answers later, unless it fails at once. */
static uint64_t run(void *data) {
  call_t *call = data;
  const tn__relay_request_t *request = call->request;
  const uint64_t answer = request->is_async ? tn_environment_next_answer() : 0;
  request->stack->head.words[TN_PACKED_ANSWERED_CALL] = answer;
  TVMFFIAny result = {.type_index = kTVMFFINone};
  call->status = request->run(request->closure, call->args, call->num_args, &result);
  if (call->status != 0) tn__ffi.TVMFFIErrorMoveFromRaised(&call->error);
  if (call->status == 0 && answer == 0) call->result = result;
  return call->status == 0 ? answer : 0;
}

static const char *message_of(int32_t status) {
  if (status == TN_CLOSED) return "the thread that owns this TypeScript function has ended";
  if (status == TN_TIMED_OUT) return "timed out: the thread that owns this TypeScript function did not answer";
  return "deadlock avoided: the thread that owns this TypeScript function is blocked in a native call";
}

int tn__relay_call(const tn__relay_request_t *request, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  call_t call = {.request = request, .args = args, .num_args = num_args};
  const int32_t status = tn_environment_relay(&(tn_relay_t){
      .environment = request->environment,
      .threads = TN_THREADS_RELAY,
      .timeout_ms = request->timeout_ms,
      .run = run,
      .data = &call,
  });
  if (status != TN_OK) return tn__packed_raise("ThreadError", message_of(status));
  if (call.status == 0)
    *result = call.result;
  else
    tn__ffi.TVMFFIErrorSetRaised(call.error);
  if (call.error != NULL) tn__ffi.TVMFFIObjectDecRef(call.error);
  return call.status;
}

/* Moves an answer to the call that waits for it. */
static void accept(void *caller, void *data) {
  call_t *to = caller, *from = data;
  to->status = from->status;
  to->result = from->result;
  to->error = from->error;
  *from = (call_t){.result.type_index = kTVMFFINone};
}

void tn_packed_answer(uint64_t answer, TVMFFIAny *slot, int32_t failed) {
  call_t call = {.result.type_index = kTVMFFINone};
  if (failed) {
    call.error = slot->v_obj;
    tn__ffi.TVMFFIObjectIncRef(call.error);
  } else if (tn__ffi.TVMFFIAnyViewToOwnedAny(slot, &call.result) != 0) {
    tn__ffi.TVMFFIErrorMoveFromRaised(&call.error);
  }
  call.status = call.error == NULL ? 0 : -1;
  if (tn_environment_answer(answer, accept, &call)) return;
  tn_packed_clear(&call.result);
  if (call.error != NULL) tn__ffi.TVMFFIObjectDecRef(call.error);
}
