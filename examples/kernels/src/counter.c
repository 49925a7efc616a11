/* Counters: handlers with a state, for each version of the ABI. */
#include "state.h"
#include "typed.h"

static state_type_t counter_type = {.name_v1 = "tenon_counter_v1", .name = "tenon_counter_v2"};

/* Attribute start: s64. Leaves a counter that begins with `start`. */
static tn_xla_error_t *instantiate(tn_xla_call_frame_t *frame, int32_t minor) {
  const tn_xla_signature_t signature = {.minor = minor, .stage = TN_XLA_INSTANTIATE, .args = 0, .rets = 0, .attrs = 1};
  tn_xla_reader_t in;
  if (!tn_xla_open(&in, frame, &signature)) return in.error;
  const int64_t start = tn_xla_attr_s64(&in, NULL, "start");
  if (!tn_xla_complete(&in)) return in.error;
  return set_state(frame, minor, &counter_type, start);
}

/* Writes the count to the result s64[], and then adds one to it. */
static tn_xla_error_t *execute(tn_xla_call_frame_t *frame, int32_t minor) {
  const tn_xla_signature_t signature = {
      .minor = minor, .stage = TN_XLA_EXECUTE, .args = 0, .rets = 1, .attrs = TN_XLA_ANY};
  tn_xla_reader_t in;
  if (!tn_xla_open(&in, frame, &signature)) return in.error;
  tn_xla_buffer_t *out = tn_xla_ret(&in, 0, TN_XLA_S64, 0);
  if (!tn_xla_complete(&in)) return in.error;
  int64_t *counter;
  tn_xla_error_t *error = get_state(frame, minor, TN_XLA_INSTANTIATE, &counter_type, &counter);
  if (error == NULL) *(int64_t *)out->data = (*counter)++;
  return error;
}

TYPED_HANDLER(counter_v1_instantiate, instantiate(frame, 1));
TYPED_HANDLER(counter_v1, execute(frame, 1));
TYPED_HANDLER(counter_v2_instantiate, instantiate(frame, 2));
TYPED_HANDLER(counter_v2, execute(frame, 2));
TYPED_HANDLER(counter_v3_instantiate, instantiate(frame, 3));
TYPED_HANDLER(counter_v3, execute(frame, 3));
TYPED_HANDLER(counter_v4_instantiate, instantiate(frame, 4));
TYPED_HANDLER(counter_v4, execute(frame, 4));
