/* The results and the metadata of single handlers. */
#include "internal.h"

tn_xla_error_t *tn__xla_settle(tn_xla_error_t *returned, tn_xla_future_t *future) {
  if (returned == NULL) return future == NULL ? NULL : tn__xla_future_wait(future);
  if (future != NULL) tn__xla_future_abandon(future);
  if (!tn__xla_error_is_live(returned))
    return tn__xla_error(TN_XLA_INTERNAL,
                         "the handler returned %p, which is not an error of this runtime: is it typed?",
                         (void *)returned);
  if (returned->code != TN_XLA_OK) return returned;
  tn__xla_error_destroy(returned);
  return NULL;
}

typedef struct {
  tn_xla_handler_t *handler;
  tn_xla_call_frame_t frame;
  tn_xla_error_t *error;
} question_t;

static void ask(void *context) {
  question_t *question = context;
  tn_xla_error_t *returned = question->handler(&question->frame);
  question->error = tn__xla_settle(returned, question->frame.future);
}

/* A number that the version of a handler does not have. */
#define NO_VERSION INT32_MIN

int32_t tn__xla_metadata(tn_xla_handler_t *handler, const tn_xla_api_t *api, tn_xla_metadata_t *out, int32_t *code) {
  *out = (tn_xla_metadata_t){TN_XLA_SIZE_METADATA, {sizeof out->api_version, NULL, NO_VERSION, NO_VERSION}, 0, {0}};
  tn_xla_metadata_extension_t extension = {{sizeof extension, TN_XLA_EXTENSION_METADATA, NULL}, out};
  question_t question = {.handler = handler,
                         .frame = {.struct_size = TN_XLA_SIZE_CALL_FRAME,
                                   .extension_start = &extension.base,
                                   .api = api,
                                   .stage = TN_XLA_EXECUTE,
                                   .args = {.struct_size = sizeof(tn_xla_args_t)},
                                   .rets = {.struct_size = sizeof(tn_xla_rets_t)},
                                   .attrs = {.struct_size = sizeof(tn_xla_attrs_t)}}};
  const int32_t status = tn_guard_call(ask, &question);
  if (out->api_version.major_version == NO_VERSION && out->api_version.minor_version == NO_VERSION)
    out->api_version = (tn_xla_api_version_t){0, NULL, 0, 0};
  return status != TN_OK || question.error == NULL ? status : tn__xla_error_report(question.error, code);
}
