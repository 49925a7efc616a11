/* The untyped conventions, which are plain C functions. Only their caller knows which convention they have. */
#include "call/guard_call.h"
#include "internal.h"

static void run_on_host(tn_xla_untyped_call_t *call) {
  const void **in = (const void **)call->buffers;
  void *out = *call->out;
  if (call->api_version == TN_XLA_CALL_ORIGINAL)
    ((tn_xla_host_call_t *)call->function)(out, in);
  else if (call->api_version == TN_XLA_CALL_STATUS_RETURNING)
    ((tn_xla_host_status_call_t *)call->function)(out, in, &call->status);
  else
    ((tn_xla_host_unified_call_t *)call->function)(out, in, call->opaque, call->opaque_length, &call->status);
}

/* On devices the two conventions with a status are the same. */
static void run_on_device(tn_xla_untyped_call_t *call) {
  if (call->api_version == TN_XLA_CALL_ORIGINAL)
    ((tn_xla_device_call_t *)call->function)(call->stream, call->buffers, call->opaque, call->opaque_length);
  else
    ((tn_xla_device_status_call_t *)call->function)(call->stream, call->buffers, call->opaque, call->opaque_length,
                                                    &call->status);
}

static void run(void *context) {
  tn_xla_untyped_call_t *call = context;
  if (call->on_device)
    run_on_device(call);
  else
    run_on_host(call);
}

/* Checks a call before it runs. Returns the status of the run if it cannot. */
static inline int32_t begin(tn_xla_untyped_call_t *call) {
  TN_REQUIRE(call != NULL, "call must not be null");
  TN_REQUIRE(call->api_version >= TN_XLA_CALL_ORIGINAL && call->api_version <= TN_XLA_CALL_UNIFIED,
             "api_version is unknown: %d", (int)call->api_version);
  if (call->status.failed) XlaCustomCallStatusSetSuccess(&call->status);
  if (!tn__xla_enter(call->device)) {
    XlaCustomCallStatusSetFailure(&call->status, "the device of the call cannot be entered on this thread", SIZE_MAX);
    return TN_KERNEL_FAILED;
  }
  return TN_OK;
}

int32_t tn__xla_end_untyped_exception(tn_xla_untyped_call_t *call, int32_t status) {
  /* The call keeps the message, because it may be read on another thread. */
  XlaCustomCallStatusSetFailure(&call->status, tn_last_error(), SIZE_MAX);
  return status;
}

int32_t tn__xla_execute_untyped(tn_xla_untyped_call_t *call) {
  TN_TRY(begin(call));
  const int32_t status = tn__guard_call(run, call);
  if (status != TN_OK) return tn__xla_end_untyped_exception(call, status);
  return call->status.failed ? TN_KERNEL_FAILED : TN_OK;
}

int32_t tn__xla_enter_untyped(tn_xla_untyped_call_t *call) {
  TN_TRY(begin(call));
  run(call);
  return call->status.failed ? TN_KERNEL_FAILED : TN_OK;
}

int32_t tn_xla_execute_untyped(void *call) { return tn__xla_execute_untyped(call); }

int32_t tn_xla_untyped_failure(void *memory, char *message, size_t capacity, size_t *length) {
  tn_xla_untyped_call_t *call = memory;
  TN_REQUIRE(call != NULL && length != NULL && (message != NULL || capacity == 0),
             "call, message and length must not be null");
  if (!call->status.failed) return tn__fail(TN_NOT_FOUND, "the last run did not fail");
  if (tn__xla_copy_message(call->status.message, call->status.length, message, capacity, length))
    XlaCustomCallStatusSetSuccess(&call->status);
  return TN_OK;
}
