/* The installed exception guard. The core is plain C, so the guard is a function of another library. */
#include <stdatomic.h>

#include "../base/internal.h"
#include "tenon_call.h"

static _Atomic(tn_guard_t) installed;

int32_t tn_guard_install(tn_guard_t guard) {
  TN_REQUIRE(guard != NULL, "guard must not be null");
  atomic_store_explicit(&installed, guard, memory_order_release);
  return TN_OK;
}

int32_t tn_guard_call(void (*body)(void *), void *context) {
  const tn_guard_t guard = atomic_load_explicit(&installed, memory_order_acquire);
  if (guard == NULL) return tn__fail(TN_UNSUPPORTED, "no exception guard is installed");
  char message[960];
  const int32_t status = guard(body, context, message, sizeof message);
  return status == TN_OK ? TN_OK : tn__fail(status, "%s", message);
}
