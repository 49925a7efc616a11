/* Handlers of XLA FFI 0.3 and 0.4 with the additions of 0.4, and registrations that a runtime of 0.4 refuses. */
#include "typed.h"

/* The result s64[8] tells about the table of the runtime: its declared size; its minor version; whether FindExtension
 * fails, and whether it finds an extension; the code and the length of the message of an error that the handler
 * creates; the code of a pointer that is not an error; and whether a question of older headers, without a place for a
 * code, writes one. */
static tn_xla_error_t *table_facts(tn_xla_call_frame_t *frame, int32_t minor) {
  const tn_xla_signature_t signature = {.minor = minor, .stage = TN_XLA_EXECUTE, .args = 0, .rets = 1, .attrs = 0};
  tn_xla_reader_t in;
  if (!tn_xla_open(&in, frame, &signature)) return in.error;
  tn_xla_buffer_t *facts = tn_xla_ret(&in, 0, TN_XLA_S64, 1);
  if (!tn_xla_complete(&in)) return in.error;
  if (facts->dims[0] != 8) return tn_xla_fail(frame, TN_XLA_INVALID_ARGUMENT, "the result must have eight elements");
  int64_t *out = facts->data;
  const tn_xla_api_t *api = frame->api;
  const tn_xla_context_extension_t none = {sizeof none, {7, 1, 0}, NULL};
  tn_xla_find_extension_args_t find = {sizeof find, NULL, frame->ctx, 7, &none};
  tn_xla_error_t *missing = api->find_extension(&find);
  tn_xla_error_t *error = tn_xla_fail(frame, TN_XLA_UNIMPLEMENTED, "unimplemented");
  tn_xla_error_get_details_args_t known = {TN_XLA_SIZE_ERROR_GET_DETAILS, NULL, error, NULL, -7};
  tn_xla_error_get_details_args_t unknown = {TN_XLA_SIZE_ERROR_GET_DETAILS, NULL, (tn_xla_error_t *)(void *)&none, NULL, -7};
  tn_xla_error_get_details_args_t older = {sizeof(tn_xla_error_get_message_args_t), NULL, error, NULL, -7};
  api->error_get_message(&known);
  api->error_get_message(&unknown);
  api->error_get_message(&older);
  const int64_t values[8] = {
      (int64_t)api->struct_size, api->api_version.minor_version, missing != NULL, find.extension != NULL,
      known.errc, (int64_t)strlen(known.message), unknown.errc, older.errc != -7 || strcmp(older.message, known.message) != 0};
  memcpy(out, values, sizeof values);
  tn_xla_error_t *made[] = {error, missing};
  for (int i = 0; i < 2; i++) {
    tn_xla_error_destroy_args_t destroy = {sizeof destroy, NULL, made[i]};
    api->error_destroy(&destroy);
  }
  return NULL;
}

TYPED_HANDLER(table_facts_v2, table_facts(frame, 2));
TYPED_HANDLER(table_facts_v3, table_facts(frame, 3));
TYPED_HANDLER(table_facts_v4, table_facts(frame, 4));

/* The result s64[] is 42, for any stage and version. */
static tn_xla_error_t *answer(tn_xla_call_frame_t *frame, int32_t major, int32_t minor, int32_t stage) {
  const tn_xla_signature_t signature = {.minor = minor, .stage = stage, .args = TN_XLA_ANY, .rets = TN_XLA_ANY, .attrs = 0};
  tn_xla_reader_t in;
  if (!tn_xla_open(&in, frame, &signature)) {
    if (in.error != NULL) return in.error;
    ((tn_xla_metadata_extension_t *)(void *)frame->extension_start)->metadata->api_version.major_version = major;
    return NULL;
  }
  if (frame->rets.size > 0) *(int64_t *)((tn_xla_buffer_t *)frame->rets.rets[0])->data = 42;
  return NULL;
}

static tn_xla_error_t *answer_v3(tn_xla_call_frame_t *frame) { return answer(frame, 0, 3, TN_XLA_EXECUTE); }
static tn_xla_error_t *answer_v5(tn_xla_call_frame_t *frame) { return answer(frame, 0, 5, TN_XLA_EXECUTE); }
static tn_xla_error_t *withdrawn(tn_xla_call_frame_t *frame) { return answer(frame, 1, 0, TN_XLA_EXECUTE); }
TYPED_HANDLER(answer_v4, answer(frame, 0, 4, TN_XLA_EXECUTE));
TYPED_HANDLER(answer_v1_0, withdrawn(frame));
TYPED_HANDLER(record_v3, answer(frame, 0, 3, TN_XLA_RECORD));

/* A record handler, and the number of times that it was run. */
static int64_t runs;
TN_XLA_EXPORT int64_t record_runs(void) { return runs; }
TN_XLA_EXPORT tn_xla_error_t *record_v4(tn_xla_call_frame_t *frame) {
  if (frame->extension_start == NULL) runs++;
  return answer(frame, 0, 4, TN_XLA_RECORD);
}
TN_XLA_MARK_TYPED(record_v4);

static void put_error(const tn_xla_api_t *api, tn_xla_error_t *error) {
  tn_xla_error_destroy_args_t destroy = {sizeof destroy, NULL, error};
  api->error_destroy(&destroy);
}

/* Registers with five handlers. */
static void enter(const tn_xla_api_t *api, size_t size, const char *name, tn_xla_bundle_t bundle, uint32_t traits) {
  tn_xla_handler_register_args_t args = {size, NULL, {name, strlen(name)}, {"cpu", 3}, bundle, traits};
  put_error(api, api->handler_register(&args));
}

__attribute__((constructor)) static void register_all(void) {
  const tn_xla_api_t *api = XLA_FFI_GetApi();
  tn_xla_handler_register_args_v1_t older = {
      TN_XLA_SIZE_HANDLER_REGISTER_V1, NULL, {"registered_older", 16}, {"Host", 4}, {NULL, NULL, NULL, answer_v3},
      TN_XLA_TRAIT_COMMAND_BUFFER_COMPATIBLE};
  put_error(api, api->handler_register(&older));
  const tn_xla_bundle_t with_record = {NULL, NULL, NULL, answer_v4, record_v4}, plain = {NULL, NULL, NULL, answer_v4, NULL};
  enter(api, TN_XLA_SIZE_HANDLER_REGISTER, "registered_record", with_record, 0);
  enter(api, TN_XLA_SIZE_HANDLER_REGISTER, "registered_record", plain, 0);
  enter(api, TN_XLA_SIZE_HANDLER_REGISTER, "registered_traits", plain, TN_XLA_TRAIT_COMMAND_BUFFER_COMPATIBLE);
  enter(api, 88, "registered_size", plain, 0);
  enter(api, TN_XLA_SIZE_HANDLER_REGISTER, "registered_newer", (tn_xla_bundle_t){.execute = answer_v5}, 1);
  enter(api, TN_XLA_SIZE_HANDLER_REGISTER, "registered_withdrawn", (tn_xla_bundle_t){.execute = withdrawn}, 0);
}
