/* Handlers that write the number of the run and of the device. */
#include "typed.h"

/* The result s64[2]: the run id and the device ordinal. */
static tn_xla_error_t *run(tn_xla_call_frame_t *frame, int32_t minor) {
  const tn_xla_signature_t signature = {.minor = minor, .stage = TN_XLA_EXECUTE, .args = 0, .rets = 1, .attrs = 0};
  tn_xla_reader_t in;
  if (!tn_xla_open(&in, frame, &signature)) return in.error;
  tn_xla_buffer_t *facts = tn_xla_ret(&in, 0, TN_XLA_S64, 1);
  if (!tn_xla_complete(&in)) return in.error;
  if (facts->dims[0] != 2)
    return tn_xla_fail(frame, TN_XLA_INVALID_ARGUMENT, "the result must have two elements, got %lld",
                       (long long)facts->dims[0]);
  tn_xla_run_id_get_args_t run = {sizeof run, NULL, frame->ctx, 0};
  tn_xla_error_t *error = frame->api->run_id_get(&run);
  if (error != NULL) return error;
  tn_xla_device_ordinal_get_args_t device = {TN_XLA_SIZE_DEVICE_ORDINAL_GET, NULL, frame->ctx, 0};
  error = frame->api->device_ordinal_get(&device);
  if (error != NULL) return error;
  ((int64_t *)facts->data)[0] = run.run_id;
  ((int64_t *)facts->data)[1] = device.device_ordinal;
  return NULL;
}

/* For 0.1, whose headers have both functions since spring 2025, in the slots of 0.2 and without a new version
 * number. */
TYPED_HANDLER(run_facts_v1, run(frame, 1));
TYPED_HANDLER(run_facts, run(frame, 2));
