/* Calls of TypeScript functions from other threads, for functions that accept them. */
#pragma once

#include "host.h"

/* Runs a TypeScript function on its own thread with borrowed arguments: 0, or -1 with the error raised. */
typedef int (*tn__run_closure_t)(void *closure, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result);

typedef struct {
  uint64_t environment;     /* of the thread that owns the function */
  tn_packed_stack_t *stack; /* of that thread */
  void *closure;            /* held by the caller during the call */
  tn__run_closure_t run;
  uint32_t timeout_ms; /* the longest time that the caller waits */
  bool is_async;       /* the function answers later: see tn_packed_answer() */
} tn__relay_request_t;

/* Has a function run on its own thread and waits for the answer: 0, or -1 with the error raised. Fails instead of
 * waiting without end. Called on any thread but the function's own. */
int tn__relay_call(const tn__relay_request_t *request, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result);
