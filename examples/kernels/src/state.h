/* A number that one handler of a target leaves as a state for the others. Each version of the ABI passes states in its
 * own way. The runtime owns the state, and releases it with free(). */
#ifndef TENON_KERNELS_STATE_H
#define TENON_KERNELS_STATE_H

#include <stdlib.h>

#include <tenon/xla_handler.h>

/* A type of state, with names and ids for 0.1 and for later versions. The ids are 0 until a runtime registers the
 * type. */
typedef struct {
  const char *name_v1, *name;
  tn_xla_type_id_t id_v1, id;
} state_type_t;

/* Registers the type if its id is 0. From 0.2 on the deleter belongs to the type; in 0.1 it comes with each state. */
static tn_xla_error_t *register_state_type(tn_xla_call_frame_t *frame, int32_t minor, state_type_t *type) {
  static const tn_xla_type_info_t info = {sizeof info, NULL, free};
  if ((minor == 1 ? type->id_v1 : type->id).type_id != 0) return NULL;
  tn_xla_type_register_args_v1_t v1 = {sizeof v1, NULL, {type->name_v1, strlen(type->name_v1)}, &type->id_v1};
  tn_xla_type_register_args_v2_t v2 = {
      TN_XLA_SIZE_TYPE_REGISTER, NULL, {type->name, strlen(type->name)}, &type->id, &info};
  return frame->api->type_register(minor == 1 ? (void *)&v1 : (void *)&v2);
}

/* Leaves `number` as the state of the target, or of the current stage from 0.3 on. */
static tn_xla_error_t *set_state(tn_xla_call_frame_t *frame, int32_t minor, state_type_t *type, int64_t number) {
  int64_t *state = malloc(sizeof *state);
  if (state == NULL) return tn_xla_fail(frame, TN_XLA_RESOURCE_EXHAUSTED, "out of memory for a state");
  *state = number;
  tn_xla_state_set_args_v1_t v1 = {sizeof v1, NULL, frame->ctx, &type->id_v1, state, free};
  tn_xla_state_set_args_v2_t v2 = {sizeof v2, NULL, frame->ctx, &type->id, state};
  tn_xla_state_set_args_v3_t v3 = {sizeof v3, NULL, frame->ctx, frame->stage, &type->id, state};
  tn_xla_error_t *error = register_state_type(frame, minor, type);
  if (error == NULL) error = frame->api->state_set(minor == 1 ? (void *)&v1 : minor == 2 ? (void *)&v2 : (void *)&v3);
  /* After a failure the state still belongs to the handler. */
  if (error != NULL) free(state);
  return error;
}

/* Writes the state that `stage` left to `*out`, borrowed. Before 0.3 only the instantiate stage has a state. */
static tn_xla_error_t *get_state(tn_xla_call_frame_t *frame, int32_t minor, int32_t stage, state_type_t *type,
                                 int64_t **out) {
  tn_xla_state_get_args_v1_t v1 = {sizeof v1, NULL, frame->ctx, minor == 1 ? &type->id_v1 : &type->id, NULL};
  tn_xla_state_get_args_v3_t v3 = {sizeof v3, NULL, frame->ctx, stage, &type->id, NULL};
  tn_xla_error_t *error = frame->api->state_get(minor >= 3 ? (void *)&v3 : (void *)&v1);
  *out = minor >= 3 ? v3.state : v1.state;
  return error;
}

#endif
