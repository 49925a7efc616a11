/* Calls of TypeScript functions from other threads, for functions that asked for it. */
#ifndef TENON_PACKED_RELAY_H
#define TENON_PACKED_RELAY_H

#include "host.h"

/* Runs a TypeScript function on its own thread, with arguments that are lent: 0, or -1 with the error raised. */
typedef int (*tn__run_closure_t)(void *closure, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result);

/* What a relayed call wants: the function, how it is run, and how long its caller waits at most. */
typedef struct {
  tn_packed_stack_t *stack; /* of the thread that runs it */
  void *closure;            /* outlives the call: its caller holds it */
  tn__run_closure_t run;
  int32_t timeout_ms;
  bool is_async; /* the function gives its answer later: see tn_packed_relay_answer() */
} tn__relay_request_t;

/* Has a function run on its own thread, and waits for its answer: 0, or -1 with the error raised. Fails instead of waiting for
 * ever. On any thread but the function's own. */
int tn__relay_call(const tn__relay_request_t *request, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result);

/* Whether the calling thread runs JavaScript and takes calls of others. */
bool tn__relay_is_own(void);

/* Runs what other threads wait for, on such a thread: for code that waits for other threads itself. */
void tn__relay_serve_own(void);

/* The calling thread goes into code that serves while it waits, or leaves it: callers need not fear that it never does. */
void tn__relay_will_serve(bool will);

/* Fails what waits and whatever comes; the thread of the stack ends. Idempotent. */
void tn__relay_close(tn_packed_stack_t *stack);

#endif
