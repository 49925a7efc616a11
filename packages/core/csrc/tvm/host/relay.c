/* Calls of TypeScript functions from other threads: a queue for each thread that runs JavaScript, an event that wakes its loop,
 * and callers that wait, but never for ever. */
#include "relay.h"

#include <stdlib.h>

#include "../../base/lock.h"
#include "wake.h"

/* How long a thread may stay in one native call while others wait for it. It may be waiting for them. */
#define STALL_MS 100

/* How often callers look how the thread is doing. */
#define LOOK_MS 20

typedef enum { QUEUED, RUNNING, AWAITED, DONE } state_t;

typedef struct relay_call {
  const tn__relay_request_t *request; /* lent by the caller: not in AWAITED */
  const TVMFFIAny *args;              /* lent by the caller, as long as it is QUEUED or RUNNING */
  int32_t num_args;
  state_t state;
  int holders; /* the caller, and JavaScript while it is to answer */
  int status;
  TVMFFIAny result;         /* owned */
  TVMFFIObjectHandle error; /* owned, or null */
  struct relay_call *next;
} relay_call_t;

struct tn__relay {
  tn__lock_t lock;
  tn__condition_t settled; /* some call has come further */
  int wake;                /* an end of the pipe that the event loop reads */
  relay_call_t *first;
  relay_call_t **last;
  bool closed;
};

/* Lets other threads wait for functions of the calling one, and stores the end of a pipe, now the caller's, from which bytes can
 * be read when there are calls. A status; TN_UNSUPPORTED where Node can't read pipes. Once for a stack. */
TN_API int32_t tn_packed_relay_open(tn_packed_stack_t *stack, int32_t *descriptor) {
  struct tn__relay *relay = calloc(1, sizeof *relay);
  if (relay == NULL) return TN_OUT_OF_MEMORY;
  int ends[2];
  if (!tn__wake_open(ends)) {
    free(relay);
    return TN_UNSUPPORTED;
  }
  relay->lock = (tn__lock_t)TN__LOCK;
  relay->settled = (tn__condition_t)TN__CONDITION;
  relay->last = &relay->first;
  *descriptor = ends[0];
  relay->wake = ends[1];
  stack->relay = relay;
  return TN_OK;
}

static void settle(struct tn__relay *relay, relay_call_t *call) {
  call->state = DONE;
  tn__wake_all(&relay->settled);
}

static int raise_ended(void) { return tn__packed_raise("ThreadError", "the JavaScript of a TypeScript function has ended"); }

void tn__relay_close(tn_packed_stack_t *stack) {
  struct tn__relay *relay = stack->relay;
  if (relay == NULL) return;
  tn__lock(&relay->lock);
  if (!relay->closed) {
    relay->closed = true;
    tn__wake_close(relay->wake);
    tn__wake_all(&relay->settled);
  }
  tn__unlock(&relay->lock);
}

/* As tn__relay_close(), for JavaScript that ends in good order. */
TN_API void tn_packed_relay_close(tn_packed_stack_t *stack) { tn__relay_close(stack); }

void tn__relay_free(tn_packed_stack_t *stack) {
  tn__relay_close(stack);
  free(stack->relay);
}

static void let_go(relay_call_t *call) {
  if (--call->holders > 0) return;
  if (call->result.type_index >= kTVMFFIStaticObjectBegin) tn__ffi.TVMFFIObjectDecRef(call->result.v_obj);
  if (call->error != NULL) tn__ffi.TVMFFIObjectDecRef(call->error);
  free(call);
}

static void remove_call(struct tn__relay *relay, const relay_call_t *call) {
  for (relay_call_t **place = &relay->first; *place != NULL; place = &(*place)->next) {
    if (*place != call) continue;
    *place = call->next;
    if (relay->last == &call->next) relay->last = place;
    return;
  }
}

/* Waits until the call is done. A sentence if it never may be. Under the lock. */
static const char *wait_for(struct tn__relay *relay, relay_call_t *call, tn_packed_stack_t *stack, int32_t timeout_ms) {
  uint64_t start = tn__now_ms(), seen_at = start;
  uint32_t seen = __atomic_load_n(&stack->progress, __ATOMIC_ACQUIRE);
  while (call->state != DONE) {
    uint64_t now = tn__now_ms();
    uint32_t progress = __atomic_load_n(&stack->progress, __ATOMIC_ACQUIRE);
    /* Odd: the thread is in native code. */
    if (progress != seen || progress % 2 == 0 || __atomic_load_n(&stack->will_serve, __ATOMIC_ACQUIRE)) {
      seen = progress;
      seen_at = now;
    }
    if (call->state != RUNNING) {
      if (relay->closed) return "the JavaScript of a TypeScript function has ended";
      if (now - start >= (uint64_t)timeout_ms) return "a TypeScript function was called from another thread and did not answer in time";
      if (now - seen_at >= STALL_MS)
        return "a TypeScript function was called from another thread, and its own is in a native call that may wait for it";
    }
    tn__wait_for(&relay->settled, &relay->lock, LOOK_MS);
  }
  return NULL;
}

int tn__relay_call(const tn__relay_request_t *request, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  struct tn__relay *relay = request->stack->relay;
  relay_call_t *call = calloc(1, sizeof *call);
  if (call == NULL) return tn__packed_raise("MemoryError", "no memory for a call from another thread");
  *call = (relay_call_t){.request = request, .args = args, .num_args = num_args, .holders = 1};
  tn__lock(&relay->lock);
  if (relay->closed) {
    tn__unlock(&relay->lock);
    free(call);
    return raise_ended();
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
  let_go(call);
  tn__unlock(&relay->lock);
  if (failure == NULL) return status;
  return tn__packed_raise("ThreadError", failure);
}

/* Takes what the calling thread raised: the call is over unless JavaScript is to answer later. Under the lock. */
static void finish(struct tn__relay *relay, relay_call_t *call, int status, bool is_async) {
  call->status = status;
  if (status != 0) tn__ffi.TVMFFIErrorMoveFromRaised(&call->error);
  if (status == 0 && is_async) {
    if (call->state == RUNNING) call->state = AWAITED;
    return;
  }
  if (is_async) call->holders--; /* it never will */
  settle(relay, call);
}

/* Runs the calls that wait, on the stack's thread. */
static void serve(tn_packed_stack_t *stack) {
  struct tn__relay *relay = stack->relay;
  tn__lock(&relay->lock);
  while (!relay->closed && relay->first != NULL) {
    relay_call_t *call = relay->first;
    remove_call(relay, call);
    call->state = RUNNING;
    const tn__relay_request_t *request = call->request;
    bool is_async = request->is_async;
    if (is_async) call->holders++;
    tn__unlock(&relay->lock);
    stack->words[13] = is_async ? (uintptr_t)call : 0;
    TVMFFIAny result = {.type_index = kTVMFFINone};
    int status = request->run(request->closure, call->args, call->num_args, &result);
    tn__lock(&relay->lock);
    if (!is_async && status == 0) call->result = result;
    finish(relay, call, status, is_async);
  }
  tn__unlock(&relay->lock);
}

/* Runs the calls that wait: from the event loop of the stack's thread. */
TN_API void tn_packed_relay_serve(tn_packed_stack_t *stack) {
  tn__cross(stack);
  serve(stack);
  tn__cross(stack);
}

/* Answers a call of an asynchronous function: with the value in the slot or, if `failed`, with the error there. On the stack's
 * thread, once for a call. */
TN_API void tn_packed_relay_answer(relay_call_t *call, TVMFFIAny *slot, int32_t failed) {
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
  let_go(call);
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
