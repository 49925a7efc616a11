#include "check.h"
#include "support.h"

static tn_xla_error_t *answer(tn_xla_call_frame_t *frame, int32_t minor) {
  const tn_xla_signature_t signature = {minor, TN_XLA_EXECUTE, 0, TN_XLA_ANY, TN_XLA_ANY, TN_XLA_ANY};
  tn_xla_reader_t in;
  return tn_xla_open(&in, frame, &signature) ? NULL : in.error;
}

static tn_xla_error_t *first(tn_xla_call_frame_t *frame) { return answer(frame, 1); }
static tn_xla_error_t *second(tn_xla_call_frame_t *frame) { return answer(frame, 1); }
static tn_xla_error_t *third(tn_xla_call_frame_t *frame) { return answer(frame, 3); }
static tn_xla_error_t *from_the_future(tn_xla_call_frame_t *frame) { return answer(frame, 4); }

/* Registers a handler and destroys the error. Returns its text, or "" for success. */
static const char *enter(const char *name, const char *platform, tn_xla_handler_t *execute) {
  static char text[512];
  const tn_xla_api_t *api = XLA_FFI_GetApi();
  tn_xla_handler_register_args_t args = {
      TN_XLA_SIZE_HANDLER_REGISTER, NULL, {name, strlen(name)}, {platform, strlen(platform)}, {NULL, NULL, NULL, execute}, 0};
  tn_xla_error_t *error = api->handler_register(&args);
  if (error == NULL) return "";
  tn_xla_error_get_message_args_t message = {sizeof message, NULL, error, NULL};
  api->error_get_message(&message);
  snprintf(text, sizeof text, "%s", message.message);
  tn_xla_error_destroy_args_t destroy = {sizeof destroy, NULL, error};
  api->error_destroy(&destroy);
  return text;
}

static int32_t look_up(const char *name, const char *platform, tn_xla_bundle_t *out) {
  return tn_xla_find_handler(name, strlen(name), platform, strlen(platform), out);
}

TEST(L23_platform_names_are_canonical) {
  tn_xla_bundle_t bundle = {NULL, NULL, NULL, NULL};
  CHECK(strcmp(enter("registry_host", "Host", first), "") == 0);
  const char *same[] = {"Host", "host", "HOST", "cpu", "CPU"};
  for (int i = 0; i < 5; i++) {
    CHECK(look_up("registry_host", same[i], &bundle) == TN_OK && bundle.execute == first);
    CHECK(strstr(enter("registry_host", same[i], second), "different bundle addresses") != NULL);
  }
  CHECK(look_up("registry_host", "CUDA", &bundle) == TN_NOT_FOUND);
  CHECK(strcmp(enter("registry_host", "gpu", second), "") == 0);
  CHECK(look_up("registry_host", "CUDA", &bundle) == TN_OK && bundle.execute == second);
}

TEST(L24_duplicates_must_be_equal) {
  CHECK(strcmp(enter("registry_same", "Host", first), "") == 0);
  CHECK(strcmp(enter("registry_same", "Host", first), "") == 0);
  CHECK(strstr(enter("registry_same", "Host", second), "different bundle addresses") != NULL);
  CHECK(strstr(enter("registry_same", "Host", third), "different metadata") != NULL);
}

TEST(R16_registration_checks_its_arguments) {
  CHECK(strstr(enter("registry_none", "Host", NULL), "must provide an execute implementation") != NULL);
  CHECK(strstr(enter("registry_new", "Host", from_the_future), "(0.4) is incompatible") != NULL);
  CHECK(strstr(enter("", "Host", first), "needs a name") != NULL);
  tn_xla_bundle_t bundle;
  CHECK(look_up("registry_new", "Host", &bundle) == TN_NOT_FOUND);
  CHECK(strstr(tn_last_error(), "No FFI handler registered for registry_new on a platform Host") != NULL);
  CHECK(tn_xla_find_handler(NULL, 0, "Host", 4, &bundle) == TN_INVALID_ARGUMENT);
}
