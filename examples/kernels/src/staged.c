/* Targets with handlers for all four stages, one for each version of the ABI. Each stage but the first writes its letter into the
 * text that its caller lends; in 0.3, where every stage has a state of its own, they also leave one, and execute sums them up. */
#include <stdlib.h>

#include <tenon/xla_handler.h>
#include <tenon/xla_mark.h>

typedef struct {
  int32_t length;
  char text[60];
} log_t;

TN_XLA_EXPORT tn_xla_type_id_t staged_log_id;
tn_xla_type_id_t staged_log_id;

static tn_xla_type_id_t state_v1, state_v2;

static tn_xla_error_t *register_state(tn_xla_call_frame_t *frame, int32_t minor) {
  static const tn_xla_type_info_t info = {sizeof info, NULL, free};
  if (minor == 1) {
    tn_xla_type_register_args_v1_t args = {sizeof args, NULL, {"tenon_staged_v1", 15}, &state_v1};
    return state_v1.type_id != 0 ? NULL : frame->api->type_register(&args);
  }
  tn_xla_type_register_args_v2_t args = {TN_XLA_SIZE_TYPE_REGISTER, NULL, {"tenon_staged", 12}, &state_v2, &info};
  return state_v2.type_id != 0 ? NULL : frame->api->type_register(&args);
}

/* Leaves a number as the state of the stage. */
static tn_xla_error_t *leave(tn_xla_call_frame_t *frame, int32_t minor, int64_t number) {
  tn_xla_error_t *error = register_state(frame, minor);
  int64_t *state = error == NULL ? malloc(sizeof *state) : NULL;
  if (error != NULL) return error;
  if (state == NULL) return tn_xla_fail(frame, TN_XLA_RESOURCE_EXHAUSTED, "no memory for a state");
  *state = number;
  tn_xla_state_set_args_v1_t v1 = {sizeof v1, NULL, frame->ctx, &state_v1, state, free};
  tn_xla_state_set_args_v2_t v2 = {sizeof v2, NULL, frame->ctx, &state_v2, state};
  tn_xla_state_set_args_v3_t v3 = {sizeof v3, NULL, frame->ctx, frame->stage, &state_v2, state};
  error = frame->api->state_set(minor == 1 ? (void *)&v1 : minor == 2 ? (void *)&v2 : (void *)&v3);
  if (error != NULL) free(state);
  return error;
}

static tn_xla_error_t *add_state(tn_xla_call_frame_t *frame, int32_t minor, int32_t stage, int64_t *sum) {
  tn_xla_state_get_args_v1_t v1 = {sizeof v1, NULL, frame->ctx, minor == 1 ? &state_v1 : &state_v2, NULL};
  tn_xla_state_get_args_v3_t v3 = {sizeof v3, NULL, frame->ctx, stage, &state_v2, NULL};
  tn_xla_error_t *error = frame->api->state_get(minor == 3 ? (void *)&v3 : (void *)&v1);
  if (error == NULL) *sum += *(const int64_t *)(minor == 3 ? v3.state : v1.state);
  return error;
}

static tn_xla_error_t *write_letter(tn_xla_call_frame_t *frame, char letter) {
  tn_xla_context_get_args_t args = {sizeof args, NULL, frame->ctx, &staged_log_id, NULL};
  tn_xla_error_t *error = frame->api->context_get(&args);
  if (error != NULL) return error;
  log_t *log = args.data;
  if (log->length >= 0 && log->length < (int32_t)sizeof log->text) log->text[log->length++] = letter;
  return NULL;
}

/* The result s64[] of execute: what the states say, 1 for instantiate, 10 for prepare, 100 for initialize. */
static tn_xla_error_t *run(tn_xla_call_frame_t *frame, int32_t minor, int32_t stage) {
  const int64_t rets = stage == TN_XLA_INSTANTIATE ? 0 : 1;
  const tn_xla_signature_t signature = {.minor = minor, .stage = stage, .args = 0, .rets = rets, .attrs = 0};
  tn_xla_reader_t in;
  if (!tn_xla_open(&in, frame, &signature)) return in.error;
  if (stage == TN_XLA_INSTANTIATE) return leave(frame, minor, 1);
  tn_xla_error_t *error = write_letter(frame, stage == TN_XLA_PREPARE ? 'p' : stage == TN_XLA_INITIALIZE ? 'i' : 'e');
  if (error != NULL) return error;
  if (stage != TN_XLA_EXECUTE) return minor < 3 ? NULL : leave(frame, minor, stage == TN_XLA_PREPARE ? 10 : 100);
  tn_xla_buffer_t *out = tn_xla_ret(&in, 0, TN_XLA_S64, 0);
  if (!tn_xla_complete(&in)) return in.error;
  int64_t sum = 0;
  for (int32_t from = TN_XLA_INSTANTIATE; error == NULL && from < (minor < 3 ? TN_XLA_PREPARE : TN_XLA_EXECUTE); from++)
    error = add_state(frame, minor, from, &sum);
  *(int64_t *)out->data = sum;
  return error;
}

#define STAGE(minor, name, stage)                                                            \
  TN_XLA_EXPORT tn_xla_error_t *staged_v##minor##name(tn_xla_call_frame_t *frame) {          \
    return run(frame, minor, stage);                                                         \
  }                                                                                          \
  TN_XLA_MARK_TYPED(staged_v##minor##name)
#define STAGES(minor)                              \
  STAGE(minor, _instantiate, TN_XLA_INSTANTIATE);  \
  STAGE(minor, _prepare, TN_XLA_PREPARE);          \
  STAGE(minor, _initialize, TN_XLA_INITIALIZE);    \
  STAGE(minor, , TN_XLA_EXECUTE)

STAGES(1);
STAGES(2);
STAGES(3);
