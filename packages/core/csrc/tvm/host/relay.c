/* Calls of TypeScript functions from other threads, which queue the call, wake the event loop and wait with a limit. */
#include "relay.h"

#include <stdlib.h>

#include "wake.h"

/* The longest stay of a thread in one native call while others wait, because that call may be waiting for them. */
#define STALL_MS 100

#define CHECK_MS 20

#define ENDED "the thread that owns this TypeScript function has ended"

typedef enum { QUEUED, RUNNING, AWAITED, DONE } state_t;

struct tn_packed_relay_call {
  const tn__relay_request_t *request; /* borrowed from the caller until the call is AWAITED */
  const TVMFFIAny *args;              /* borrowed from the caller while the call is QUEUED or RUNNING */
  int32_t num_args;
  state_t state;
  int holders; /* the caller, and JavaScript while its answer is awaited */
  int status;
  TVMFFIAny result;         /* owned */
  TVMFFIObjectHandle error; /* owned, or null */
  tn_packed_relay_call_t *next;
};

static void settle(struct tn__relay *relay, tn_packed_relay_call_t *call) {
  call->state = DONE;
  tn__wake_all(&relay->settled);
}

static void drop_holder(tn_packed_relay_call_t *call) {
  if (--call->holders > 0) return;
  tn_packed_clear(&call->result);
  if (call->error != NULL) tn__ffi.TVMFFIObjectDecRef(call->error);
  free(call);
}

static void remove_call(struct tn__relay *relay, const tn_packed_relay_call_t *call) {
  for (tn_packed_relay_call_t **place = &relay->first; *place != NULL; place = &(*place)->next) {
    if (*place != call) continue;
    *place = call->next;
    if (relay->last == &call->next) relay->last = place;
    return;
  }
}

/* Waits, under the lock, until the call is done. Returns null, or a message if the caller must give up. */
static const char *wait_for(struct tn__relay *relay, tn_packed_relay_call_t *call, tn_packed_stack_t *stack,
                            int32_t timeout_ms) {
  uint64_t start = tn__now_ms(), seen_at = start;
  uint32_t seen = __atomic_load_n(&stack->progress, __ATOMIC_ACQUIRE);
  while (call->state != DONE) {
    uint64_t now = tn__now_ms();
    uint32_t progress = __atomic_load_n(&stack->progress, __ATOMIC_ACQUIRE);
    /* An even number means that the thread is not in native code. */
    if (progress != seen || progress % 2 == 0 || __atomic_load_n(&stack->will_serve, __ATOMIC_ACQUIRE)) {
      seen = progress;
      seen_at = now;
    }
    if (call->state != RUNNING) {
      if (relay->closed) return ENDED;
      if (now - start >= (uint64_t)timeout_ms)
        return "timed out: the thread that owns this TypeScript function did not answer";
      if (now - seen_at >= STALL_MS)
        return "deadlock avoided: the thread that owns this TypeScript function is blocked in a native call";
    }
    tn__wait_for(&relay->settled, &relay->lock, CHECK_MS);
  }
  return NULL;
}

int tn__relay_call(const tn__relay_request_t *request, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  struct tn__relay *relay = request->stack->relay;
  tn_packed_relay_call_t *call = calloc(1, sizeof *call);
  if (call == NULL) return tn__packed_raise("MemoryError", "out of memory for a call from another thread");
  *call = (tn_packed_relay_call_t){.request = request, .args = args, .num_args = num_args, .holders = 1};
  tn__lock(&relay->lock);
  if (relay->closed) {
    tn__unlock(&relay->lock);
    free(call);
    return tn__packed_raise("ThreadError", ENDED);
  }
  if (relay->first == NULL) tn__wake(relay->wake);
  *relay->last = call;
  relay->last = &call->next;
  const char *failure = wait_for(relay, call, request->stack, request->timeout_ms);
  int status = call->status;
  if (failure != NULL) {
    if (call->state == QUEUED) remove_call(relay, call);
  } else if (status == 0) {
    *result = call->result;
    call->result = (TVMFFIAny){.type_index = kTVMFFINone};
  } else {
    tn__ffi.TVMFFIErrorSetRaised(call->error);
  }
  drop_holder(call);
  tn__unlock(&relay->lock);
  return failure == NULL ? status : tn__packed_raise("ThreadError", failure);
}

/* Ends a run, under the lock, and takes the error that it raised. The call is done unless JavaScript answers later. */
static void finish(struct tn__relay *relay, tn_packed_relay_call_t *call, int status, bool is_async) {
  call->status = status;
  if (status != 0) tn__ffi.TVMFFIErrorMoveFromRaised(&call->error);
  if (status == 0 && is_async) {
    if (call->state == RUNNING) call->state = AWAITED;
    return;
  }
  if (is_async) call->holders--; /* JavaScript will not answer */
  settle(relay, call);
}

static void serve(tn_packed_stack_t *stack) {
  struct tn__relay *relay = stack->relay;
  tn__lock(&relay->lock);
  while (!relay->closed && relay->first != NULL) {
    tn_packed_relay_call_t *call = relay->first;
    remove_call(relay, call);
    call->state = RUNNING;
    const tn__relay_request_t *request = call->request;
    bool is_async = request->is_async;
    if (is_async) call->holders++;
    tn__unlock(&relay->lock);
    stack->head.words[TN_PACKED_ANSWERED_CALL] = is_async ? (uintptr_t)call : 0;
    TVMFFIAny result = {.type_index = kTVMFFINone};
    int status = request->run(request->closure, call->args, call->num_args, &result);
    tn__lock(&relay->lock);
    if (!is_async && status == 0) call->result = result;
    finish(relay, call, status, is_async);
  }
  tn__unlock(&relay->lock);
}

void tn_packed_relay_serve(tn_packed_stack_t *stack) {
  tn__cross(stack);
  serve(stack);
  tn__cross(stack);
}

void tn_packed_relay_answer(tn_packed_relay_call_t *call, TVMFFIAny *slot, int32_t failed) {
  struct tn__relay *relay = tn__stack_of(slot)->relay;
  TVMFFIAny result = {.type_index = kTVMFFINone};
  TVMFFIObjectHandle error = NULL;
  if (failed) {
    error = slot->v_obj;
    tn__ffi.TVMFFIObjectIncRef(error);
  } else if (tn__ffi.TVMFFIAnyViewToOwnedAny(slot, &result) != 0) {
    tn__ffi.TVMFFIErrorMoveFromRaised(&error);
  }
  tn__lock(&relay->lock);
  call->result = result;
  call->error = error;
  call->status = error == NULL ? 0 : -1;
  settle(relay, call);
  drop_holder(call);
  tn__unlock(&relay->lock);
}

bool tn__relay_is_own(void) {
  const tn_packed_stack_t *stack = tn__own_stack();
  return stack != NULL && stack->relay != NULL;
}

void tn__relay_serve_own(void) { serve(tn__own_stack()); }

void tn__relay_will_serve(bool will) {
  tn_packed_stack_t *stack = tn__own_stack();
  if (stack != NULL) __atomic_store_n(&stack->will_serve, will ? 1 : 0, __ATOMIC_RELEASE);
}
