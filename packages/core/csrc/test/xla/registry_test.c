#include <dlfcn.h>

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

/* Registers another handler while it is asked for its metadata, as the constructor of its library may do. */
static tn_xla_error_t *registers_another(tn_xla_call_frame_t *frame) {
  tn_xla_bundle_t bundle;
  if (enter("registry_inner", "Host", first)[0] != '\0' || look_up("registry_inner", "Host", &bundle) != TN_OK)
    return tn_xla_fail(frame, TN_XLA_INTERNAL, "the other handler is not registered");
  return answer(frame, 1);
}

TEST(no_lock_is_held_while_a_handler_is_asked_for_its_metadata) {
  CHECK(strcmp(enter("registry_outer", "Host", registers_another), "") == 0);
  tn_xla_bundle_t bundle;
  CHECK(look_up("registry_outer", "Host", &bundle) == TN_OK && bundle.execute == registers_another);
}

/* Throws a C++ exception, with a function of the C++ runtime. */
static tn_xla_error_t *throws(tn_xla_call_frame_t *frame) {
  (void)frame;
  void (*thrower)(void) = NULL;
  void *address = dlsym(RTLD_DEFAULT, "__cxa_throw_bad_array_new_length");
  memcpy(&thrower, &address, sizeof thrower);
  thrower();
  return NULL;
}

TEST(a_handler_that_throws_when_it_is_asked_is_refused) {
  CHECK(strcmp(enter("registry_throws", "Host", throws), "std::bad_array_new_length") == 0);
  tn_xla_bundle_t bundle;
  CHECK(look_up("registry_throws", "Host", &bundle) == TN_NOT_FOUND);
}
