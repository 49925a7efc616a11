/* Calls between C and JavaScript: callbacks, and the guard against C++ exceptions. The rules of tenon.h hold for every
 * function. */
#ifndef TENON_CALL_H
#define TENON_CALL_H

#include "tenon.h"

/* --- call/callback.c ---------------------------------------------------------------------------------------------- */

/* The callbacks of one thread that runs JavaScript, and one callback: a TypeScript function that native code may call
 * and keep. */
typedef struct tn_callbacks tn_callbacks_t;
typedef struct tn_callback tn_callback_t;

/* The function that a trampoline runs, and the addresses that its native caller has passed. JavaScript reads it first,
 * because the next call overwrites it. Doubles hold ids and user-space addresses exactly; a parameter of a callback
 * would cost more than a tenth of the call. */
typedef struct {
  double id;
  double arguments;
  double result;
} tn_callback_call_t;

/* Runs the TypeScript function that the table's call selects. The function and its native caller agree on the types of
 * `arguments` and `result`. Returns 1 when the function has returned; every other value is a failure. */
typedef int32_t (*tn_trampoline_t)(void);

/* Opens the table of this thread, which alone enters the trampoline. Borrows `call` until tn_callbacks_close(). */
TN_API int32_t tn_callbacks_open(tn_trampoline_t trampoline, tn_callback_call_t *call, tn_callbacks_t **out);

/* Closes the table, once and on its thread. Later calls of its functions return TN_CLOSED. Callbacks that native code
 * holds stay valid handles until they are released. */
TN_API void tn_callbacks_close(tn_callbacks_t *table);

/* Takes at most `capacity` ids of callbacks whose last reference was released. The others stay queued. */
TN_API int32_t tn_callbacks_take_released(tn_callbacks_t *table, int64_t *ids, size_t capacity, size_t *count);

/* Creates a callback for the function `id`, with one reference that the caller owns. */
TN_API int32_t tn_callback_create(tn_callbacks_t *table, int64_t id, tn_callback_t **out);

/* Adds a reference. Null is a no-op. */
TN_API void tn_callback_retain(tn_callback_t *callback);

/* Releases a reference. The last one queues the id for tn_callbacks_take_released(). Null is a no-op. */
TN_API void tn_callback_release(tn_callback_t *callback);

/* Calls the function. TN_WRONG_THREAD: this is not the table's thread, for which the call never waits, so it cannot
 * deadlock. TN_CLOSED: the JavaScript of the function has ended. TN_CALLBACK_FAILED: the function threw. */
TN_API int32_t tn_callback_invoke(tn_callback_t *callback, void *arguments, void *result);

/* --- call/jobs.c -------------------------------------------------------------------------------------------------- */

/* The queues of jobs. Each has threads of its own, as many as TENON_THREADS says: so many jobs can wait for each other. */
#define TN_JOBS_CALLS 0
#define TN_JOBS_TASKS 1 /* what calls schedule and may wait for */

/* A job, which is a member of an object of its caller. The object stays where it is until one of both functions is called,
 * which may free it, or until tn_jobs_remove() returns TN_OK. The caller sets only the first three members. */
typedef struct tn_job {
  uint64_t owner;                       /* the id of the environment whose end removes the job or waits for it, or 0 */
  void (*run)(struct tn_job *job);      /* on a thread with a stack of 8 MiB */
  void (*removed)(struct tn_job *job);  /* called instead of `run` at the end of the owner; may be null */
  struct tn_job *next, *previous;
  int32_t queue;
  uint32_t is_waiting;
} tn_job_t;

/* Adds a job to the end of a queue. TN_INVALID_ARGUMENT: the value of TENON_THREADS is not valid. TN_OUT_OF_MEMORY: no
 * thread could be started. */
TN_API int32_t tn_jobs_add(int32_t queue, tn_job_t *job);

/* Removes a job without calling its functions. TN_NOT_FOUND: it has begun. */
TN_API int32_t tn_jobs_remove(tn_job_t *job);

typedef struct {
  uint64_t limit;   /* of the threads of a queue; 0 if the value of TENON_THREADS is not valid */
  uint64_t running; /* jobs of both queues that run */
  uint64_t queued;  /* jobs of both queues that have not begun */
} tn_jobs_counts_t;

TN_API void tn_jobs_counts(tn_jobs_counts_t *out);

/* --- call/guard.c ------------------------------------------------------------------------------------------------- */

/* Runs `body(context)` and catches C++ exceptions: returns TN_OK, or TN_EXCEPTION with the text of the exception in
 * `message` (at most `capacity` bytes, NUL-terminated). */
typedef int32_t (*tn_guard_t)(void (*body)(void *), void *context, char *message, size_t capacity);

/* Installs the guard, which is a function of another library (call/guard.cc). Idempotent. */
TN_API int32_t tn_guard_install(tn_guard_t guard);

/* Calls `body(context)` under the installed guard. TN_UNSUPPORTED: no guard is installed, and `body` was not called. */
TN_API int32_t tn_guard_call(void (*body)(void *), void *context);

#endif
