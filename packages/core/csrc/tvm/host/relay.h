/* Calls of TypeScript functions from other threads, for functions that accept them. */
#pragma once

#include "../../base/lock.h"
#include "host.h"

/* --- relay_queue.c: the queue of a thread that runs JavaScript ---------------------------------------------------- */

struct tn__relay {
  tn__lock_t lock;
  tn__condition_t settled; /* signalled when a call makes progress */
  int wake;                /* the write end of the pipe that the event loop reads */
  tn_packed_relay_call_t *first;
  tn_packed_relay_call_t **last;
  bool closed;
};

/* --- relay.c ------------------------------------------------------------------------------------------------------ */

/* Runs a TypeScript function on its own thread with borrowed arguments: 0, or -1 with the error raised. */
typedef int (*tn__run_closure_t)(void *closure, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result);

typedef struct {
  tn_packed_stack_t *stack; /* of the thread that owns the function */
  void *closure;            /* held by the caller during the call */
  tn__run_closure_t run;
  int32_t timeout_ms; /* the longest time that the caller waits */
  bool is_async;      /* the function answers later: see tn_packed_relay_answer() */
} tn__relay_request_t;

/* Has a function run on its own thread and waits for the answer: 0, or -1 with the error raised. Fails instead of
 * waiting without end. Called on any thread but the function's own. */
int tn__relay_call(const tn__relay_request_t *request, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result);

/* Whether the calling thread runs JavaScript and accepts calls from other threads. */
bool tn__relay_is_own(void);

/* Runs the waiting calls of the calling thread, for native code that itself waits for other threads. */
void tn__relay_serve_own(void);

/* Marks the thread as serving calls while it waits, so that callers do not suspect a deadlock, or removes the mark. */
void tn__relay_will_serve(bool will);
