/* Counters: handlers with a state, one for each version of the ABI, because each passes states in its own way.
 *
 * The instantiate handler reads the attribute start (s64) and leaves a counter with the call; the execute handler writes
 * the count to a result s64[] and adds one. */
#include <stdlib.h>

#include <tenon/xla_handler.h>
#include <tenon/xla_mark.h>

typedef struct {
  int64_t next;
} counter_t;

static void destroy_counter(void *counter) { free(counter); }

static tn_xla_error_t *create_counter(tn_xla_call_frame_t *frame, int32_t minor, counter_t **out) {
  const tn_xla_signature_t signature = {.minor = minor, .stage = TN_XLA_INSTANTIATE, .args = 0, .rets = 0, .attrs = 1};
  tn_xla_reader_t in;
  if (!tn_xla_open(&in, frame, &signature)) return in.error;
  const int64_t start = tn_xla_attr_s64(&in, NULL, "start");
  if (!tn_xla_complete(&in)) return in.error;
  counter_t *counter = malloc(sizeof *counter);
  if (counter == NULL) return tn_xla_fail(frame, TN_XLA_RESOURCE_EXHAUSTED, "no memory for a counter");
  counter->next = start;
  *out = counter;
  return NULL;
}

/* The result to write to; null with in->error when there is nothing to do. */
static tn_xla_buffer_t *open_execute(tn_xla_reader_t *in, tn_xla_call_frame_t *frame, int32_t minor) {
  const tn_xla_signature_t signature = {
      .minor = minor, .stage = TN_XLA_EXECUTE, .args = 0, .rets = 1, .attrs = TN_XLA_ANY};
  if (!tn_xla_open(in, frame, &signature)) return NULL;
  tn_xla_buffer_t *count = tn_xla_ret(in, 0, TN_XLA_S64, 0);
  return tn_xla_complete(in) ? count : NULL;
}

static void count_up(tn_xla_buffer_t *count, counter_t *counter) { *(int64_t *)count->data = counter->next++; }

/* What could not be handed over is freed here: a failed State_Set leaves the state with the handler. */
static tn_xla_error_t *or_destroy(tn_xla_error_t *error, counter_t *counter) {
  if (error != NULL) destroy_counter(counter);
  return error;
}

/* --- 0.1: types are names, the deleter comes with each state ----------------------------------------------------- */

static tn_xla_type_id_t type_v1;

TN_XLA_EXPORT tn_xla_error_t *counter_v1_instantiate(tn_xla_call_frame_t *frame) {
  counter_t *counter = NULL;
  tn_xla_error_t *error = create_counter(frame, 1, &counter);
  if (counter == NULL) return error;
  if (type_v1.type_id == 0) {
    tn_xla_type_register_args_v1_t type = {sizeof type, NULL, {"tenon_counter_v1", 16}, &type_v1};
    error = frame->api->type_register(&type);
    if (error != NULL) return or_destroy(error, counter);
  }
  tn_xla_state_set_args_v1_t set = {sizeof set, NULL, frame->ctx, &type_v1, counter, destroy_counter};
  return or_destroy(frame->api->state_set(&set), counter);
}
TN_XLA_MARK_TYPED(counter_v1_instantiate);

TN_XLA_EXPORT tn_xla_error_t *counter_v1(tn_xla_call_frame_t *frame) {
  tn_xla_reader_t in;
  tn_xla_buffer_t *count = open_execute(&in, frame, 1);
  if (count == NULL) return in.error;
  tn_xla_state_get_args_v1_t get = {sizeof get, NULL, frame->ctx, &type_v1, NULL};
  tn_xla_error_t *error = frame->api->state_get(&get);
  if (error == NULL) count_up(count, get.state);
  return error;
}
TN_XLA_MARK_TYPED(counter_v1);

/* --- 0.2: the deleter belongs to the registered type ------------------------------------------------------------- */

static tn_xla_type_id_t type_v2;

static tn_xla_error_t *register_v2(tn_xla_call_frame_t *frame) {
  static const tn_xla_type_info_t info = {sizeof info, NULL, destroy_counter};
  if (type_v2.type_id != 0) return NULL;
  tn_xla_type_register_args_v2_t type = {TN_XLA_SIZE_TYPE_REGISTER, NULL, {"tenon_counter_v2", 16}, &type_v2, &info};
  return frame->api->type_register(&type);
}

TN_XLA_EXPORT tn_xla_error_t *counter_v2_instantiate(tn_xla_call_frame_t *frame) {
  counter_t *counter = NULL;
  tn_xla_error_t *error = create_counter(frame, 2, &counter);
  if (counter == NULL) return error;
  error = register_v2(frame);
  if (error != NULL) return or_destroy(error, counter);
  tn_xla_state_set_args_v2_t set = {sizeof set, NULL, frame->ctx, &type_v2, counter};
  return or_destroy(frame->api->state_set(&set), counter);
}
TN_XLA_MARK_TYPED(counter_v2_instantiate);

TN_XLA_EXPORT tn_xla_error_t *counter_v2(tn_xla_call_frame_t *frame) {
  tn_xla_reader_t in;
  tn_xla_buffer_t *count = open_execute(&in, frame, 2);
  if (count == NULL) return in.error;
  tn_xla_state_get_args_v1_t get = {sizeof get, NULL, frame->ctx, &type_v2, NULL};
  tn_xla_error_t *error = frame->api->state_get(&get);
  if (error == NULL) count_up(count, get.state);
  return error;
}
TN_XLA_MARK_TYPED(counter_v2);

/* --- 0.3: a state for each stage --------------------------------------------------------------------------------- */

TN_XLA_EXPORT tn_xla_error_t *counter_v3_instantiate(tn_xla_call_frame_t *frame) {
  counter_t *counter = NULL;
  tn_xla_error_t *error = create_counter(frame, 3, &counter);
  if (counter == NULL) return error;
  error = register_v2(frame);
  if (error != NULL) return or_destroy(error, counter);
  tn_xla_state_set_args_v3_t set = {sizeof set, NULL, frame->ctx, TN_XLA_INSTANTIATE, &type_v2, counter};
  return or_destroy(frame->api->state_set(&set), counter);
}
TN_XLA_MARK_TYPED(counter_v3_instantiate);

TN_XLA_EXPORT tn_xla_error_t *counter_v3(tn_xla_call_frame_t *frame) {
  tn_xla_reader_t in;
  tn_xla_buffer_t *count = open_execute(&in, frame, 3);
  if (count == NULL) return in.error;
  tn_xla_state_get_args_v3_t get = {sizeof get, NULL, frame->ctx, TN_XLA_INSTANTIATE, &type_v2, NULL};
  tn_xla_error_t *error = frame->api->state_get(&get);
  if (error == NULL) count_up(count, get.state);
  return error;
}
TN_XLA_MARK_TYPED(counter_v3);
