/* The installed exception guard. The core is plain C, so the guard is in another library. */
#include <stdatomic.h>

#include "base/direction_flag.h"
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

int32_t tn__guard_call(void (*body)(void *), void *context) {
  const tn_guard_t *guard = atomic_load_explicit(&installed, memory_order_acquire);
  if (guard == NULL) return tn__fail(TN_UNSUPPORTED, "no exception guard is installed");
  char message[960];
  const int32_t status = guard->run(body, context, message, sizeof message);
  tn__direction_clear();
  return status == TN_OK ? TN_OK : tn__fail(status, "%s", message);
}

int32_t tn_guard_call(void (*body)(void *), void *context) { return tn__guard_call(body, context); }

/* _URC_CONTINUE_UNWIND: the frame catches nothing. */
#define CONTINUE_UNWIND 8

/* Itanium C++ ABI: Exception Handling, 1.6.2. */
int32_t tn__personality(int32_t version, int32_t actions, uint64_t class, void *exception, void *context) {
  (void)version, (void)class;
  const tn_guard_t *guard = atomic_load_explicit(&installed, memory_order_acquire);
  return guard == NULL ? CONTINUE_UNWIND : guard->unwind(actions, exception, context);
}

int32_t tn__guard_take(void *exception) {
  char message[960];
  const tn_guard_t *guard = atomic_load_explicit(&installed, memory_order_acquire);
  return tn__fail(guard->take(exception, message, sizeof message), "%s", message);
}

uint32_t tn__catch(void *exception) {
  tn_environment_current()->has_caught = true;
  return (uint32_t)tn__guard_take(exception);
}
