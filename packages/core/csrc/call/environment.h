/* Threads of JavaScript, for the files of this topic. */
#pragma once

#include "base/floating_point.h"
#include "base/lock.h"
#include "base/status.h"
#include "native_stack.h"
#include "tenon_call.h"

/* A function that is called at the end of an environment. */
typedef struct tn__end_hook {
  struct tn__end_hook *next;
  void (*run)(void *data);
  void *data;
} tn__end_hook_t;

struct tn_environment {
  uint64_t id;
  tn_call_frame_t *frame;
  tn_driver_t driver;
  struct tn_environment *next;   /* of all environments; guarded by the lock */
  tn_message_t *first, **last;   /* messages that are not served; guarded by the lock */
  tn_callback_t *released;       /* callbacks without references, whose ids JavaScript has not taken; guarded by the lock */
  tn_message_t taking;           /* tells JavaScript to take the ids of holds */
  bool will_take;                /* the message is posted; guarded by the lock */
  tn__native_stack_t native;
  void *script_top;              /* the free part of the JavaScript stack, while a call is in progress, else null */
  uint32_t depth;                /* calls in progress; written by the thread, read by those that wait for it */
  bool is_in_place;              /* the outermost call in progress runs on the stack of its thread */
  uint32_t calls;                /* outermost calls so far; written and read like `depth` */
  tn__floating_point_t floating_point; /* the control bits of JavaScript */
  bool has_thrown;               /* a function of TypeScript threw during the innermost call */
  bool is_in_leaf;               /* a call with TN_CALL_LEAF is in progress */
  bool has_left_leaf;            /* it called a function of TypeScript, which was refused */
  bool has_caught;               /* the innermost call ended with a C++ exception */
  bool is_terminating;           /* JavaScript was interrupted, and cannot be entered before it calls again */
  bool is_closed;                /* JavaScript has ended */
  uint64_t job;                  /* for which the next function of TypeScript runs, or 0 */
  bool is_shut;                  /* other threads cannot find it any more */
  tn__end_hook_t *end_hooks;     /* the last added is the first */
  bool will_serve;               /* the native call in progress serves messages */
};

/* Enters TypeScript with the function `id`. The arguments are in the frame already, and so is then the result. Returns
 * false if the function threw or JavaScript has ended. On the environment's thread. */
bool tn__enter_script(tn_environment_t *environment, uint32_t id);

/* Whether a leaf is in progress, from which no function of TypeScript can be entered. The call ends with an error then. */
static inline bool tn__refuse_in_leaf(tn_environment_t *environment) {
  if (environment->is_in_leaf) environment->has_left_leaf = true;
  return environment->is_in_leaf;
}

/* Ids of functions that the dispatcher always has. */
#define TN__FUNCTION_JOB_DONE 0
#define TN__FUNCTION_REPORT_ERROR 1
#define TN__FUNCTION_STACK_FULL 2

/* enter.c: performs the call of a frame on this stack. Returns TN_CALL_RETURNED,
 * TN_CALL_CAUGHT or TN_CALL_ENDED. */
uint32_t tn__perform(tn_call_frame_t *frame);

/* async_call.c: makes the call that runs on this thread of the pool, if any, fail with the last error, because a callback
 * did not run and the call goes on with a result that the function did not return. */
void tn__async_call_refuse(void);

/* {sysv_x64,aapcs64,win64}.S: calls `run(data)` on the stack that ends at `top`, which is aligned to 16 bytes, and stores
 * where the stack that was left can be used meanwhile. Returns what `run` returns, or tn__catch() of guard.h if it throws a
 * C++ exception, but on Windows only tn__run_entry() catches it. */
uint32_t tn__on_stack(void *top, uint32_t (*run)(void *data), void *data, void **left);
#if defined(_WIN32)
uint32_t tn__run_entry(void *call);
#endif

/* {sysv_x64,aapcs64,win64}.S: calls the target of a frame on this stack and stores its results. Returns 0, or 1 if the
 * target threw a C++ exception, which is the first result then. */
uint32_t tn__invoke(void *frame);

/* callback.c: frees the callbacks whose ids JavaScript will not take. */
void tn__callbacks_close_all(tn_environment_t *environment);

/* The lock of the lists of all environments. */
tn__lock_t *tn__environments_lock(void);

/* Returns an environment that is not shut, or null. Under the lock. */
tn_environment_t *tn__environment_find(uint64_t id);

/* Adds a message to an environment that is not shut. Under the lock. */
void tn__environment_add(tn_environment_t *to, tn_message_t *message);

/* Removes a message that was not taken. Returns whether it was there. Under the lock. */
bool tn__environment_remove(uint64_t environment, tn_message_t *message);

/* relay.c: refuses the callers that wait for an answer of an environment; `with_running` also those whose functions run,
 * because they will never return. */
void tn__relay_close_all(uint64_t environment, bool with_running);

/* Removes an environment from those that are found, and its messages from it. */
tn_message_t *tn__environment_leave(tn_environment_t *environment);

/* Runs the hooks of this thread's environment, and frees it. */
void tn__environment_free(void);
