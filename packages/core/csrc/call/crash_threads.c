/* A table of the threads whose crashes are reported. A thread is found by its id, because a handler of signals may not use thread-local
 * variables, which may be allocated at first use. */
#include "crash_threads.h"

#include "environment.h"

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "crash_page.h"

#define STACK_SIZE ((size_t)128 << 10)
#define MOST_THREADS 1024

struct tn__caller {
  _Atomic int id; /* 0: free */
  tn_environment_t *environment; /* null for a thread of the pool */
  const tn_crash_calls_t *calls; /* of the environment */
  const tn_crash_call_t *job;    /* the call that its job is a part of, or null */
  bool is_in_job;
  void *stack; /* of its handlers; null for one of others */
};

static tn__caller_t callers[MOST_THREADS];
static tn__lock_t lock = TN__LOCK;
static atomic_bool has_begun;

/* This thread; null if it is not in the table. */
static _Thread_local tn__caller_t *mine;

int tn__crash_thread_id(void) { return (int)syscall(SYS_gettid); }

static tn__caller_t *find(int id) {
  for (size_t i = 0; i < MOST_THREADS; i++)
    if (atomic_load_explicit(&callers[i].id, memory_order_relaxed) == id) return &callers[i];
  return NULL;
}

const tn__caller_t *tn__crash_thread(int id) { return find(id); }

bool tn__crash_is_in_call(const tn__caller_t *caller) {
  if (caller == NULL) return false;
  const tn_environment_t *environment = caller->environment;
  if (environment == NULL) return caller->is_in_job;
  return environment->is_in_leaf || (environment->depth > 0 && environment->script_top != NULL);
}

const tn_crash_call_t *tn__crash_call(const tn__caller_t *caller) {
  if (caller->environment == NULL) return caller->job;
  const uint32_t depth = caller->calls->depth;
  if (depth == 0) return NULL;
  const tn_crash_call_t *call = &caller->calls->calls[(depth - 1) % TN_CRASH_CALLS];
  /* A call so much deeper that it had the same place has overwritten it. */
  return call->depth == depth ? call : NULL;
}

const char *tn__crash_kind(const tn__caller_t *caller) {
  return caller->environment != NULL ? "a thread of JavaScript" : "a thread of the pool";
}

/* Gives the thread a stack for handlers, so that they run although its own is full. */
static int32_t add_thread(tn_environment_t *environment, const tn_crash_calls_t *calls) {
  tn__caller_t *caller = find(0);
  if (caller == NULL) return tn__fail(TN_OUT_OF_MEMORY, "crashes of %d threads are reported at most", MOST_THREADS);
  stack_t known;
  *caller = (tn__caller_t){.environment = environment, .calls = calls};
  if (sigaltstack(NULL, &known) == 0 && ((known.ss_flags & SS_DISABLE) != 0 || known.ss_size < STACK_SIZE)) {
    void *stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED) return tn__fail(TN_OUT_OF_MEMORY, "out of memory: cannot map the stack of signal handlers");
    const stack_t own = {.ss_sp = stack, .ss_size = STACK_SIZE};
    if (sigaltstack(&own, NULL) == 0) caller->stack = stack;
    else munmap(stack, STACK_SIZE);
  }
  atomic_store(&caller->id, tn__crash_thread_id());
  mine = caller;
  return TN_OK;
}

static void remove_thread(void) {
  if (mine == NULL) return;
  tn__caller_t *caller = mine;
  stack_t known;
  const stack_t none = {.ss_flags = SS_DISABLE};
  mine = NULL;
  tn__lock(&lock);
  if (caller->stack != NULL && sigaltstack(NULL, &known) == 0 && known.ss_sp == caller->stack) {
    sigaltstack(&none, NULL);
    munmap(caller->stack, STACK_SIZE);
  }
  atomic_store(&caller->id, 0);
  tn__unlock(&lock);
}

static void on_environment_end(void *unused) {
  (void)unused;
  remove_thread();
}

int32_t tn_crash_report_thread(const tn_crash_calls_t *calls) {
  TN_REQUIRE(calls != NULL, "calls must not be null");
  tn_environment_t *environment = tn_environment_current();
  if (environment == NULL) return tn__fail(TN_CLOSED, "this thread has no environment");
  if (mine != NULL) return TN_OK;
  tn__lock(&lock);
  const int32_t status = add_thread(environment, calls);
  tn__unlock(&lock);
  TN_TRY(status);
  const int32_t hooked = tn_environment_on_end(on_environment_end, NULL);
  if (hooked != TN_OK) remove_thread();
  return hooked;
}

void tn__crash_threads_begin(void) { atomic_store(&has_begun, true); }

/* Jobs ask first, so that they take no time as long as nothing is reported. */
static bool is_reported(void) { return atomic_load_explicit(&has_begun, memory_order_acquire); }

/* Copies the innermost call of this thread, so that a job has it. Null if it is not known, or memory is exhausted. */
static void *copy_call(void) {
  const tn_crash_call_t *call = is_reported() && mine != NULL ? tn__crash_call(mine) : NULL;
  if (call == NULL) return NULL;
  size_t size;
  const char *last = tn__crash_text_of(call, TN_CRASH_TEXTS - 1, &size);
  size = (size_t)(last + size - (const char *)call);
  void *copy = malloc(size);
  if (copy != NULL) memcpy(copy, call, size);
  return copy;
}

static void begin_job(void *call) {
  if (!is_reported()) return;
  if (mine == NULL) {
    tn__lock(&lock);
    add_thread(NULL, NULL);
    tn__unlock(&lock);
    if (mine == NULL) return;
  }
  mine->job = call;
  mine->is_in_job = true;
}

static void end_job(void *call) {
  if (!is_reported()) return;
  if (mine != NULL) mine->is_in_job = false;
  free(call);
}

const tn__job_hooks_t tn__crash_job_hooks = {copy_call, begin_job, end_job, free, remove_thread};

#else

void tn__crash_threads_begin(void) {}

int32_t tn_crash_report_thread(const tn_crash_calls_t *calls) {
  (void)calls;
  return TN_OK;
}

static void *keep_nothing(void) { return NULL; }
static void ignore(void *kept) { (void)kept; }
static void ignore_thread(void) {}

const tn__job_hooks_t tn__crash_job_hooks = {keep_nothing, ignore, ignore, ignore, ignore_thread};

#endif
