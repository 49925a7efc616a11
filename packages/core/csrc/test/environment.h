/* Threads of JavaScript for tests. C functions take the place of those of TypeScript. */
#ifndef TENON_TEST_ENVIRONMENT_H
#define TENON_TEST_ENVIRONMENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/lock.h"
#include "tenon_call.h"
#include "thread.h"

enum { ENVIRONMENT_FUNCTIONS = 20, ENVIRONMENT_COMPLETIONS = 2048 };

/* How a function of TypeScript ends. The dispatcher catches what is thrown, unless the stack is full. */
enum { RETURNS = 0, THROWS = 1, OVERFLOWS = 2, TERMINATES = 3 };

/* The first ids belong to the core. */
enum { JOB_DONE = 0, REPORT_ERROR = 1, TAKE_RELEASED = 5, FIRST_FUNCTION = 6 };

typedef struct environment environment_t;

/* A function of TypeScript, which reads its arguments from the frame, and writes its result to the frame. */
typedef int function_t(environment_t *environment);

struct environment {
  tn_call_frame_t *frame;
  uint64_t id;
  function_t *functions[ENVIRONMENT_FUNCTIONS]; /* those from FIRST_FUNCTION on belong to the test */
  void *data;                                   /* for the functions of the test */
  uint64_t job;                                 /* for which the last function ran, or 0 */
  int reports;                                  /* errors that no call could throw */
  size_t completions;                           /* jobs that are done */
  uint64_t ids[ENVIRONMENT_COMPLETIONS];
  int32_t statuses[ENVIRONMENT_COMPLETIONS];
  atomic_int wakes;
  tn__lock_t mutex;
  tn__condition_t changed;
};

static inline int environment_job_done(environment_t *environment) {
  if (environment->completions < ENVIRONMENT_COMPLETIONS) {
    environment->ids[environment->completions] = environment->frame->integers[0];
    environment->statuses[environment->completions] = (int32_t)environment->frame->integers[1];
  }
  environment->completions++;
  return RETURNS;
}

static inline int environment_report(environment_t *environment) {
  environment->reports++;
  return RETURNS;
}

static inline int32_t environment_dispatch(void *data, int32_t is_in_call) {
  (void)is_in_call;
  environment_t *environment = data;
  uint32_t function = environment->frame->state;
  environment->job = 0;
  if (function == TN_FUNCTION_FOR_JOB) {
    environment->job = (uint32_t)environment->frame->target;
    function = (uint32_t)(environment->frame->target >> 32);
  }
  const int end = environment->functions[function](environment);
  if (end == TERMINATES) return 2;
  if (end == OVERFLOWS) return 1;
  environment->frame->error_number = end == THROWS;
  return 0;
}

static inline void environment_wake(void *data) {
  environment_t *environment = data;
  atomic_fetch_add(&environment->wakes, 1);
  tn__lock(&environment->mutex);
  tn__wake_one(&environment->changed);
  tn__unlock(&environment->mutex);
}

/* Makes this thread one of JavaScript. */
static inline environment_t *environment_open(void) {
  environment_t *made = calloc(1, sizeof *made);
  if (made == NULL || (made->frame = calloc(1, sizeof *made->frame)) == NULL) abort();
  made->functions[JOB_DONE] = environment_job_done;
  made->functions[REPORT_ERROR] = environment_report;
  made->mutex = (tn__lock_t)TN__LOCK;
  made->changed = (tn__condition_t)TN__CONDITION;
  const tn_driver_t driver = {made, environment_dispatch, environment_wake};
  if (tn_environment_open(made->frame, &driver) != TN_OK) abort();
  made->id = tn_environment_id();
  return made;
}

/* Ends the JavaScript of this thread, which waits for its jobs. */
static inline void environment_close(environment_t *environment) {
  tn_environment_close();
  free(environment->frame);
  free(environment);
}

/* One turn of the event loop, which waits a little for messages. */
static inline void environment_turn(environment_t *environment) {
  tn__lock(&environment->mutex);
  tn__wait_for(&environment->changed, &environment->mutex, 2);
  tn__unlock(&environment->mutex);
  tn_environment_serve();
}

/* Runs the event loop until `*done` is not 0. Returns false after 20 s. */
static inline bool environment_serve_until(environment_t *environment, const atomic_int *done) {
  for (const uint64_t end = tn__now_ms() + 20000; !atomic_load(done);) {
    if (tn__now_ms() > end) return false;
    environment_turn(environment);
  }
  return true;
}

/* Runs the event loop until so many jobs are done. Returns false after 20 s. */
static inline bool environment_await(environment_t *environment, size_t completions) {
  for (const uint64_t end = tn__now_ms() + 20000; environment->completions < completions;) {
    if (tn__now_ms() > end) return false;
    environment_turn(environment);
  }
  return true;
}

/* An address of a function, which C does not convert without memcpy(). */
static inline uint64_t code_of(void (*function)(void)) {
  uint64_t address = 0;
  memcpy(&address, &function, sizeof function);
  return address;
}
#define CODE_OF(function) code_of((void (*)(void))(function))

/* Calls a native function with up to two integers as JavaScript does. Returns the status of the call. */
static inline uint32_t environment_call(environment_t *environment, uint64_t target, uint32_t flags, uint64_t first,
                                        uint64_t second) {
  tn_call_frame_t *frame = environment->frame;
  frame->target = target;
  frame->flags = flags;
  frame->stack_size = 0;
  frame->extra = 0;
  frame->integers[0] = first;
  frame->integers[1] = second;
  tn_driver_enter();
  return frame->state;
}

#endif
