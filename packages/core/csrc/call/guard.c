/* The installed exception guard. The core is plain C, so the guard is in another library. */
#include <stdatomic.h>

#include "call/guard.h"
#include "environment.h"
#include "tenon_call.h"

static _Atomic(const tn_guard_t *) installed;

int32_t tn_guard_install(const tn_guard_t *guard) {
  TN_REQUIRE(guard != NULL && guard->run != NULL && guard->unwind != NULL && guard->take != NULL,
             "guard and its functions must not be null");
  atomic_store_explicit(&installed, guard, memory_order_release);
  return TN_OK;
}

const tn_guard_t *tn__guard_installed(void) { return atomic_load_explicit(&installed, memory_order_acquire); }

tn_environment_t *tn__environment_in_call(void) {
#if defined(_WIN32)
  return NULL; /* the assembly does not catch there */
#else
  tn_environment_t *environment = tn_environment_current();
  return environment != NULL && environment->depth > 0 ? environment : NULL;
#endif
}

/* _URC_CONTINUE_UNWIND: the frame catches nothing. */
#define CONTINUE_UNWIND 8

/* _UA_FORCE_UNWIND: pthread_exit() or pthread_cancel() ends the thread, or a longjmp is in progress on Windows. */
#define FORCE_UNWIND 8

/* Itanium C++ ABI: Exception Handling, 1.6.2. */
int32_t tn__personality(int32_t version, int32_t actions, uint64_t class, void *exception, void *context) {
  (void)version, (void)class;
  const tn_guard_t *guard = tn__guard_installed();
  if (guard == NULL) return CONTINUE_UNWIND;
  if (!(actions & FORCE_UNWIND)) return guard->unwind(actions, exception, context);
  /* A thread of JavaScript must not end in a call, so the call fails in its place. The object belongs to the C library, which
   * ends the process if it is deleted. */
  return tn__environment_in_call() != NULL ? guard->unwind(actions & ~FORCE_UNWIND, NULL, context) : CONTINUE_UNWIND;
}

int32_t tn__guard_take(void *exception) {
  if (exception == NULL) return tn__fail(TN_EXCEPTION, "pthread_exit() or pthread_cancel() must not end a thread of JavaScript");
  char message[960];
  const tn_guard_t *guard = tn__guard_installed();
  return tn__fail(guard->take(exception, message, sizeof message), "%s", message);
}

uint32_t tn__catch(void *exception) {
  tn_environment_current()->has_caught = true;
  return (uint32_t)tn__guard_take(exception);
}
