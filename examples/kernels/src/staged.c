/* Targets with handlers for all four stages, for each version of the ABI. Each stage but the first appends its letter
 * to a text that the caller lends. Instantiate leaves a state; since 0.3, where every stage has a state of its own,
 * prepare and initialize do so as well. Execute adds up the states. */
#include "state.h"
#include "typed.h"

typedef struct {
  int32_t length;
  char text[60];
} log_t;

TN_XLA_EXPORT tn_xla_type_id_t staged_log_id;
tn_xla_type_id_t staged_log_id;

static state_type_t number_type = {.name_v1 = "tenon_staged_v1", .name = "tenon_staged"};

static tn_xla_error_t *append_letter(tn_xla_call_frame_t *frame, char letter) {
  tn_xla_context_get_args_t args = {sizeof args, NULL, frame->ctx, &staged_log_id, NULL};
  tn_xla_error_t *error = frame->api->context_get(&args);
  if (error != NULL) return error;
  log_t *log = args.data;
  if (log->length >= 0 && log->length < (int32_t)sizeof log->text) log->text[log->length++] = letter;
  return NULL;
}

/* The result s64[] of execute is the sum of the states: 1 for instantiate, 10 for prepare, 100 for initialize. */
static tn_xla_error_t *run(tn_xla_call_frame_t *frame, int32_t minor, int32_t stage) {
  const int64_t rets = stage == TN_XLA_INSTANTIATE ? 0 : 1;
  const tn_xla_signature_t signature = {.minor = minor, .stage = stage, .args = 0, .rets = rets, .attrs = 0};
  tn_xla_reader_t in;
  if (!tn_xla_open(&in, frame, &signature)) return in.error;
  if (stage == TN_XLA_INSTANTIATE) return set_state(frame, minor, &number_type, 1);
  tn_xla_error_t *error = append_letter(frame, stage == TN_XLA_PREPARE ? 'p' : stage == TN_XLA_INITIALIZE ? 'i' : 'e');
  if (error != NULL) return error;
  if (stage != TN_XLA_EXECUTE)
    return minor < 3 ? NULL : set_state(frame, minor, &number_type, stage == TN_XLA_PREPARE ? 10 : 100);
  tn_xla_buffer_t *out = tn_xla_ret(&in, 0, TN_XLA_S64, 0);
  if (!tn_xla_complete(&in)) return in.error;
  int64_t sum = 0;
  for (int32_t from = TN_XLA_INSTANTIATE; from < (minor < 3 ? TN_XLA_PREPARE : TN_XLA_EXECUTE); from++) {
    int64_t *state;
    error = get_state(frame, minor, from, &number_type, &state);
    if (error != NULL) return error;
    sum += *state;
  }
  *(int64_t *)out->data = sum;
  return NULL;
}

#define STAGES(minor)                                                                  \
  TYPED_HANDLER(staged_v##minor##_instantiate, run(frame, minor, TN_XLA_INSTANTIATE)); \
  TYPED_HANDLER(staged_v##minor##_prepare, run(frame, minor, TN_XLA_PREPARE));         \
  TYPED_HANDLER(staged_v##minor##_initialize, run(frame, minor, TN_XLA_INITIALIZE));   \
  TYPED_HANDLER(staged_v##minor, run(frame, minor, TN_XLA_EXECUTE))

STAGES(1);
STAGES(2);
STAGES(3);
STAGES(4);
