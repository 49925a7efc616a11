/* Calls under the installed exception guard. */
#include "call/guard_call.h"

#include "base/direction_flag.h"
#include "call/guard.h"
#include "environment.h"

typedef struct {
  void (*run)(void *context);
  void *context;
} body_t;

static uint32_t run_body(void *data) {
  const body_t *body = data;
  body->run(body->context);
  return TN_OK;
}

/* The assembly catches what ends the body, also the end of the thread, which C++ code must not stop. */
static int32_t call_in(tn_environment_t *environment, body_t body) {
  const bool had_caught = environment->has_caught;
  void *left;
  environment->has_caught = false;
  const uint32_t status = tn__on_stack(TN__BELOW(), run_body, &body, &left);
  environment->has_caught = had_caught;
  tn__direction_clear();
  return (int32_t)status;
}

int32_t tn__guard_call(void (*body)(void *), void *context) {
  const tn_guard_t *guard = tn__guard_installed();
  if (guard == NULL) return tn__fail(TN_UNSUPPORTED, "no exception guard is installed");
  tn_environment_t *environment = tn__environment_in_call();
  if (environment != NULL) return call_in(environment, (body_t){body, context});
  char message[960];
  const int32_t status = guard->run(body, context, message, sizeof message);
  tn__direction_clear();
  return status == TN_OK ? TN_OK : tn__fail(status, "%s", message);
}

int32_t tn_guard_call(void (*body)(void *), void *context) { return tn__guard_call(body, context); }
