/* Calls that run without a parameter, which costs a sixth of a call of native code from JavaScript. The frame of the
 * thread has the address of the call instead. */
#include "../call/environment.h"
#include "internal.h"

static void *current_call(void) {
  const tn_environment_t *environment = tn_environment_current();
  return environment == NULL ? NULL : (void *)(uintptr_t)environment->frame->integers[0];
}

int32_t tn_xla_execute_current(void) { return tn_xla_execute(current_call()); }

int32_t tn_xla_execute_untyped_current(void) { return tn_xla_execute_untyped(current_call()); }

int32_t tn_xla_execute_batch_current(void) { return tn_xla_execute_batch(current_call()); }
