/* Calls between C and JavaScript: callbacks, and the guard against C++ exceptions. The rules of tenon.h hold for every
 * function. */
#ifndef TENON_CALL_H
#define TENON_CALL_H

#include "tenon.h"

/* --- call/environment.c ------------------------------------------------------------------------------------------ */

/* The bytes of stack arguments that a call can have, and of a frame in all. */
#define TN_CALL_STACK_SIZE 32768
#define TN_CALL_FRAME_SIZE 65536

/* Flags of a call. */
#define TN_CALL_VECTORS 1u /* load the vector registers */
#define TN_CALL_ERRNO 2u   /* set errno to 0 before the call, and store it after the call */
#define TN_CALL_COPIES 4u  /* there are structs that are passed by reference */
#define TN_CALL_IN_PLACE 8u /* run on the stack of the thread if at least 2 MiB of it are free: see tn__has_free_stack() */
/* The target needs little stack, calls no function of TypeScript, throws nothing, and leaves the floating-point modes alone: it runs on
 * the stack of the thread, and nothing is restored after it. */
#define TN_CALL_LEAF 16u
#define TN_CALL_CHECKED 32u /* of a leaf: run it like other functions, and find out whether it changes the floating-point modes */

/* How a call has ended. */
#define TN_CALL_RETURNED 0
#define TN_CALL_THROWN 1 /* a function of TypeScript threw, and TypeScript keeps the error */
#define TN_CALL_REFUSED 3 /* a callback of a call on another thread did not run, and the last error says why */
#define TN_CALL_CAUGHT 2 /* the target threw a C++ exception, whose text is the last error; its status is an entry's result */
#define TN_CALL_THROWN_AND_CAUGHT 5 /* an entry threw a C++ exception after a function of TypeScript had thrown */
#define TN_CALL_ENDED 6 /* pthread_exit() or pthread_cancel() ended the target, as the last error says */
#define TN_CALL_BROKEN 7 /* a leaf did what no leaf does, as the last error says */
#define TN_CALL_NOT_MADE 4 /* the text of a call with text has U+0000 or is too long, or there is no memory for it */

/* The most strings of a call that JavaScript passes as texts. Before such a call, `vector_results` has an int32_t for each: the index of
 * the 32-bit word of the frame at which the address of the text is stored, or 0 if the argument is not a string; then their number, and
 * whether the result is a text. */
#define TN_CALL_MOST_TEXTS 6

/* The most bytes of a text that a function returns, with its terminator. */
#define TN_CALL_LARGEST_TEXT (1 << 20)

/* The memory through which JavaScript and native code pass the arguments and results of calls in both directions. Each
 * thread of JavaScript has one frame. Every call overwrites it, so both sides read all that they need at once. */
typedef struct {
  uint64_t target;            /* the address of the native function */
  uint32_t flags;
  uint32_t stack_size;        /* the used bytes of `stack`: a multiple of 16 */
  uint64_t extra;             /* x86-64: the number of vector registers that are used; AArch64: x8 */
  int32_t error_number;       /* out: errno, or the result of an entry; 1 after a function of TypeScript threw */
  uint32_t state;             /* out: TN_CALL_RETURNED, ...; for TypeScript the id of the function to run */
  uint64_t results[2];
  uint64_t vector_results[4]; /* the low 8 bytes of each vector register */
  uint64_t integers[8];       /* 6 are used on x86-64, 4 on Windows, 8 on AArch64 */
  uint64_t vectors[8];
  uint8_t stack[TN_CALL_STACK_SIZE];
  uint32_t copy_count;
  uint32_t copy_size; /* of all copies, with their padding */
  uint8_t copies[32552]; /* tn_call_copy_t[copy_count], then the bytes of the structs */
} tn_call_frame_t;

/* A struct that is passed by reference. The callee may write to it, so it is copied to the stack of the call. */
typedef struct {
  uint32_t word;   /* the index of the 32-bit word of the frame at which the address of the copy is stored */
  uint32_t source; /* the offset of the bytes from `copies` */
  uint32_t size;
  uint32_t place; /* the offset of the copy on the stack: a multiple of its alignment, which is at most 16 */
} tn_call_copy_t;

/* A thread of JavaScript. */
typedef struct tn_environment tn_environment_t;

/* How a thread of JavaScript is entered. */
typedef struct {
  void *data;
  /* Runs the function of TypeScript that `state` of the frame selects. On the thread alone. `is_in_call` if a call of
   * tn_environment_enter() or tn_environment_run() has left its stack for it. Returns 0, 1 if the dispatcher threw, or 2
   * if JavaScript is being terminated. */
  int32_t (*dispatch)(void *data, int32_t is_in_call);
  /* Makes the event loop call tn_environment_serve() soon. On any thread. */
  void (*wake)(void *data);
} tn_driver_t;

/* Opens the environment of this thread. TN_CLOSED: the thread has one already. Borrows `frame` until the close. */
TN_API int32_t tn_environment_open(tn_call_frame_t *frame, const tn_driver_t *driver);

/* Opens the environment of this thread for callers without Node-API. `*descriptor` becomes readable when the event loop
 * is to call tn_environment_serve_plain(). The dispatcher returns 1 when the function has returned. */
TN_API int32_t tn_environment_open_plain(tn_call_frame_t *frame, int32_t (*dispatch)(void), int32_t *descriptor);
TN_API void tn_environment_serve_plain(int32_t descriptor);

/* The environment of this thread, or null. */
TN_API tn_environment_t *tn_environment_current(void);

/* The id of this thread's environment, or 0. Ids count up from 1 and are not used again. */
TN_API uint64_t tn_environment_id(void);

/* Runs what other threads have posted, for some milliseconds. On the environment's thread. Returns whether there is more,
 * which the event loop is to serve in its next turn. */
TN_API int32_t tn_environment_serve(void);

/* The function of TypeScript that serves the environment in the next turn of the event loop. */
#define TN_FUNCTION_SERVE_LATER 3

/* The function of TypeScript that runs another one for a job, with what the caller of the job had: `target` of the frame has the id of
 * the job in its lower half, and that of the function in its upper half. */
#define TN_FUNCTION_FOR_JOB 4

/* The function of TypeScript that takes the ids of holds: see tn_hold_create(). */
#define TN_FUNCTION_TAKE_RELEASED 5

/* Says whether the native call in progress calls tn_environment_serve(), so that others can wait for it. */
TN_API void tn_environment_will_serve(int32_t will);

/* Refuses all further calls of this thread's functions, and answers those that wait. Calls in progress continue. */
TN_API void tn_environment_shut(void);

/* Shuts this thread's environment, waits for its jobs and frees it. No call is in progress. */
TN_API void tn_environment_close(void);

/* Has `hook` called once at the end of this thread, when its jobs are over and no JavaScript runs any more. An exit of
 * the process does not call it. */
TN_API int32_t tn_environment_on_end(void (*hook)(void *data), void *data);

/* The exit of the process, on the main thread: shuts its environment, removes the calls of all threads that have not
 * begun, and waits at most `wait_ms` for those that run. If one still runs, prints a message and ends the process with
 * `code`, without running the destructors of libraries. */
TN_API void tn_process_exit(int32_t code, uint64_t wait_ms);

/* A message to a thread of JavaScript, which is a member of an object of the sender. */
typedef struct tn_message {
  struct tn_message *next;
  /* Called once, on the thread; `is_closing` if JavaScript can no longer run, and then on any thread. */
  void (*run)(struct tn_message *message, int32_t is_closing);
} tn_message_t;

/* Posts a message from any thread. TN_CLOSED: the thread has ended, and the message was not taken. */
TN_API int32_t tn_environment_post(uint64_t environment, tn_message_t *message);

/* The policies for calls from threads that do not run the function's JavaScript. */
#define TN_THREADS_REFUSE 0 /* the call fails */
#define TN_THREADS_WAIT 1   /* the caller waits for the thread */
#define TN_THREADS_RELAY 2  /* it waits, but not for a thread that stays inside one native call, which may wait for it */

/* A caller that waits for a thread of JavaScript. */
typedef struct {
  uint64_t environment;
  uint32_t threads;    /* TN_THREADS_... */
  uint32_t timeout_ms; /* UINT32_MAX: no limit */
  /* Runs on the thread of JavaScript. A result above 0 names the call for tn_environment_answer(), which will end it. */
  uint64_t (*run)(void *data);
  void *data;
} tn_relay_t;

/* Calls `run` on an environment's thread, and waits for its end. The timeout limits the wait for its start.
 * TN_WRONG_THREAD: refused. TN_CLOSED: the thread has ended. TN_TIMED_OUT. TN_DEADLOCK: the thread is in a native call. */
TN_API int32_t tn_environment_relay(const tn_relay_t *relay);

/* Sets the job for which this thread calls functions of TypeScript from now on, by the id of its completion, or 0 for none. A relay of
 * this thread then enters TypeScript through TN_FUNCTION_FOR_JOB. */
TN_API void tn_environment_for_job(uint64_t id);

/* Returns a name for a call that tn_environment_answer() will end. */
TN_API uint64_t tn_environment_next_answer(void);

/* Ends a call. Returns whether the caller still waits; then `accept(data of the caller, data)` is called before. */
TN_API int32_t tn_environment_answer(uint64_t answer, void (*accept)(void *caller, void *data), void *data);

/* --- call/enter.c -------------------------------------------------------------------------------------------------- */

/* Performs the call that the frame of an environment describes, on its native stack and its thread. */
TN_API void tn_environment_enter(tn_environment_t *environment);

/* Calls an entry in the same way: a native function that is called often. It finds its arguments in the frame, because
 * passing them in registers would cost a sixth of the call. Its result is stored in `error_number` of the frame. */
TN_API void tn_environment_run(tn_environment_t *environment, int32_t (*entry)(tn_call_frame_t *frame));

/* Performs the call that any frame describes on the stack of the caller, for functions that run no code of others. They
 * need no environment, and the frame may be short: only the words that the call has are accessed. `state` tells how it ended, and
 * the first result is TN_EXCEPTION unless the function returned. */
TN_API void tn_call_perform(tn_call_frame_t *frame);

/* Do the same as the first two with the environment of this thread, which is open. */
TN_API void tn_driver_enter(void);
TN_API void tn_driver_run(int32_t (*entry)(tn_call_frame_t *frame));

/* --- call/completion.c --------------------------------------------------------------------------------------------- */

/* The end of work on another thread, which TypeScript waits for by its id. A member of an object of the sender. */
typedef struct tn_completion {
  tn_message_t message; /* set by tn_completion_post() */
  uint64_t id;
  uint64_t begun_ns; /* set by tn_completion_post() */
  int32_t status;
  /* Writes results to the frame, to `results` and from `integers[2]` to `integers[6]`, and frees the object. The frame is null if nobody
   * waits. */
  void (*finish)(struct tn_completion *completion, tn_call_frame_t *frame);
} tn_completion_t;

/* Passes a completion to the thread of JavaScript that waits for it, from any thread. Its `integers[7]` has the time at which the call began
 * on the thread that posts it, as tn_jobs_measure() says. */
TN_API void tn_completion_post(uint64_t environment, tn_completion_t *completion);

/* --- call/async_call.c --------------------------------------------------------------------------------------------- */

/* Performs the call that the frame of this thread describes on a thread of the pool. The completion `id` has the state
 * of the call as its status, the results in their places of the frame, and errno in `integers[2]`. */
TN_API int32_t tn_call_submit(uint64_t id);

/* --- call/stubs.c -------------------------------------------------------------------------------------------------- */

/* A native function that runs a function of TypeScript. */
typedef struct {
  uint32_t function;   /* its id */
  uint32_t stack_size; /* the bytes of stack arguments */
  uint32_t result_size; /* of a struct that the caller receives through a pointer; 0 otherwise */
  uint32_t threads;     /* TN_THREADS_... */
  uint32_t timeout_ms;  /* UINT32_MAX: no limit */
  uint32_t is_reusable; /* whether the address may serve another stub after this one is dead */
  uint64_t refused;     /* the bits of the result of calls that are refused */
} tn_stub_description_t;

/* Makes a stub for a function of this thread. TN_OUT_OF_MEMORY: no memory, or the process has used all addresses for
 * stubs. */
TN_API int32_t tn_stub_create(const tn_stub_description_t *description, void **out);

/* Makes a stub dead for ever: its calls return the refused result. On the thread of the stub. */
TN_API int32_t tn_stub_close(void *stub);

typedef struct {
  uint64_t live;
  uint64_t dead;
  uint64_t limit;
  uint64_t refused; /* calls that were refused */
} tn_stub_counts_t;

TN_API void tn_stub_counts(tn_stub_counts_t *out);

/* From now on, the code of stubs is generated memory, of which profilers take the names from the process, and not the code of
 * the library. Stubs that exist stay where they are. */
TN_API void tn_stubs_generate(void);

/* --- call/callback.c ---------------------------------------------------------------------------------------------- */

/* A TypeScript function that native code may call and keep. */
typedef struct tn_callback tn_callback_t;

/* Takes at most `capacity` ids of this thread's functions whose last reference was released. The others stay queued. */
TN_API int32_t tn_callbacks_take_released(int64_t *ids, size_t capacity, size_t *count);

/* Creates a callback for the function `id` of this thread, with one reference that the caller owns. */
TN_API int32_t tn_callback_create(int64_t id, tn_callback_t **out);

/* Creates a callback that native code holds and does not call. The release of its last reference, on any thread, also makes the event loop
 * of this thread take its id soon. */
TN_API int32_t tn_hold_create(int64_t id, tn_callback_t **out);

/* Adds a reference. Null is a no-op. */
TN_API void tn_callback_retain(tn_callback_t *callback);

/* Releases a reference. The last one queues the id for tn_callbacks_take_released(). Null is a no-op. */
TN_API void tn_callback_release(tn_callback_t *callback);

/* Calls the function, which receives both addresses. The function and its native caller agree on their types.
 * TN_WRONG_THREAD: this is not the function's thread, for which the call never waits, so it cannot deadlock. TN_CLOSED:
 * the JavaScript of the function has ended. TN_CALLBACK_FAILED: the function threw. */
TN_API int32_t tn_callback_invoke(tn_callback_t *callback, void *arguments, void *result);

/* The id of the environment of a callback. */
TN_API uint64_t tn_callback_environment(const tn_callback_t *callback);

/* --- call/jobs.c -------------------------------------------------------------------------------------------------- */

/* The queues of jobs. Each has threads of its own, as many as TENON_THREADS says: so many jobs can wait for each other. */
#define TN_JOBS_CALLS 0
#define TN_JOBS_TASKS 1 /* what calls schedule and may wait for */

/* A job, which is a member of an object of its caller. The object stays where it is until one of both functions is called,
 * which may free it, or until tn_jobs_remove() returns TN_OK. The caller sets only the first five members. */
typedef struct tn_job {
  uint64_t owner;                       /* the id of the environment whose end removes the job or waits for it, or 0 */
  void (*run)(struct tn_job *job);      /* on a thread with a stack of 8 MiB */
  void (*removed)(struct tn_job *job);  /* called instead of `run` at the end of the owner; may be null */
  void (*ended)(struct tn_job *job);    /* called if `run` has ended its thread, before it could free the job; may be null */
  const char *name;                     /* of the call, which an exit names if it does not wait for it; may be null */
  struct tn_job *next, *previous;
  int32_t queue;
  uint32_t is_waiting;
  void *kept; /* for the pool */
} tn_job_t;

/* Adds a job to the end of a queue. TN_INVALID_ARGUMENT: the value of TENON_THREADS is not valid. TN_OUT_OF_MEMORY: no
 * thread could be started. TN_CLOSED: this is a thread of JavaScript that is shut, and the job is a call. */
TN_API int32_t tn_jobs_add(int32_t queue, tn_job_t *job);

/* Removes a job without calling its functions. TN_NOT_FOUND: it has begun. */
TN_API int32_t tn_jobs_remove(tn_job_t *job);

typedef struct {
  uint64_t limit;   /* of the threads of a queue; 0 if the value of TENON_THREADS is not valid */
  uint64_t running; /* jobs of both queues that run */
  uint64_t queued;  /* jobs of both queues that have not begun */
} tn_jobs_counts_t;

TN_API void tn_jobs_counts(tn_jobs_counts_t *out);

/* From now on, completions have the times in ns of a monotonic clock at which their calls began. The time is 0 if it is not known: before
 * this function was called, on Windows, and if another thread ends the call than the one that ran it. Returns the time now. */
TN_API uint64_t tn_jobs_measure(void);

/* --- call/guard.c ------------------------------------------------------------------------------------------------- */

/* What the core needs of a C++ runtime. Another library has it (call/guard.cc), so that the core is plain C. */
typedef struct {
  /* Runs `body(context)` and catches C++ exceptions: returns TN_OK, TN_OUT_OF_MEMORY for a std::bad_alloc, or TN_EXCEPTION.
   * `message` receives "text (type)" of the exception, or only the text if it is the name of the type (at most `capacity`
   * bytes, NUL-terminated). */
  int32_t (*run)(void (*body)(void *), void *context, char *message, size_t capacity);
  /* The body of a personality routine: answers the unwinder for a frame that catches everything. `exception` may
   * be null, for the end of a thread. The language-specific
   * data of the frame is the code where it goes on. */
  int32_t (*unwind)(int32_t actions, void *exception, void *context);
  /* Ends an exception that was caught in this way, and copies its text. */
  int32_t (*take)(void *exception, char *message, size_t capacity);
} tn_guard_t;

/* Installs the guard, which lives as long as the process. Idempotent. */
TN_API int32_t tn_guard_install(const tn_guard_t *guard);

/* Calls `body(context)` under the installed guard, and returns what its `run` returns, with the message as the last error.
 * TN_UNSUPPORTED: no guard is installed, and `body` was not called. */
TN_API int32_t tn_guard_call(void (*body)(void *), void *context);

/* --- call/crash_report.c, crash_threads.c ------------------------------------------------------------------------- */

/* The texts of a call: the name of the kernel, its convention, the types of the operands, and the frames of JavaScript, innermost first.
 * The last two have one line for each. */
#define TN_CRASH_KERNEL 0
#define TN_CRASH_CONVENTION 1
#define TN_CRASH_TYPES 2
#define TN_CRASH_STACK 3
#define TN_CRASH_TEXTS 4
#define TN_CRASH_TEXT_SIZE 8168

/* A call in progress, as reports describe it. Its texts follow each other. */
typedef struct tn_crash_call {
  uint32_t depth; /* 1 for an outermost call */
  uint32_t sizes[TN_CRASH_TEXTS];
  uint32_t reserved;
  char texts[TN_CRASH_TEXT_SIZE]; /* UTF-8 */
} tn_crash_call_t;

#define TN_CRASH_CALLS 16

/* The calls in progress of a thread of JavaScript, which writes them. A call of depth N is at the index (N - 1) % TN_CRASH_CALLS. */
typedef struct tn_crash_calls {
  uint32_t depth; /* of the innermost call; 0 for none */
  uint32_t reserved;
  tn_crash_call_t calls[TN_CRASH_CALLS];
} tn_crash_calls_t;

/* Reports fatal signals inside of native calls: a page on standard error, and a JSON file in `directory`, an absolute path of at most 768
 * bytes. `about` are members of a JSON object for the file. Signals are passed on to the handlers that were there before. A second call
 * replaces the directory. TN_UNSUPPORTED on systems without reports. */
TN_API int32_t tn_crash_report_install(const char *directory, size_t directory_length, const char *about, size_t about_length);

/* Returns 1 if crashes of this process are reported. */
TN_API int32_t tn_crash_report_is_installed(void);

/* Has crashes of this thread of JavaScript reported. `calls` stays where it is until the end of the environment, and is zeroed at first.
 * TN_OUT_OF_MEMORY for too many threads. TN_CLOSED: this thread has no environment. */
TN_API int32_t tn_crash_report_thread(const tn_crash_calls_t *calls);

#endif
