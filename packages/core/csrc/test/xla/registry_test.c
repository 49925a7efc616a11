#include "check.h"
#include "support.h"
#include "tenon/xla_custom_call.h"
#include "throwing.h"

static tn_xla_error_t *answer(tn_xla_call_frame_t *frame, int32_t minor) {
  const tn_xla_signature_t signature = {minor, TN_XLA_EXECUTE, 0, TN_XLA_ANY, TN_XLA_ANY, TN_XLA_ANY};
  tn_xla_reader_t in;
  return tn_xla_open(&in, frame, &signature) ? NULL : in.error;
}

static tn_xla_error_t *first(tn_xla_call_frame_t *frame) { return answer(frame, 1); }
static tn_xla_error_t *second(tn_xla_call_frame_t *frame) { return answer(frame, 1); }
static tn_xla_error_t *third(tn_xla_call_frame_t *frame) { return answer(frame, 3); }
static tn_xla_error_t *from_the_future(tn_xla_call_frame_t *frame) { return answer(frame, 5); }

/* Registers handlers and destroys the error. Returns its text, or "" for success. */
static const char *enter_args(void *args) {
  static char text[512];
  const tn_xla_api_t *api = XLA_FFI_GetApi();
  tn_xla_error_t *error = api->handler_register(args);
  if (error == NULL) return "";
  tn_xla_error_get_message_args_t message = {sizeof message, NULL, error, NULL};
  api->error_get_message(&message);
  snprintf(text, sizeof text, "%s", message.message);
  tn_xla_error_destroy_args_t destroy = {sizeof destroy, NULL, error};
  api->error_destroy(&destroy);
  return text;
}

static const char *enter_bundle(const char *name, const char *platform, tn_xla_bundle_t bundle, uint32_t traits) {
  tn_xla_handler_register_args_t args = {
      TN_XLA_SIZE_HANDLER_REGISTER, NULL, {name, strlen(name)}, {platform, strlen(platform)}, bundle, traits};
  return enter_args(&args);
}

static const char *enter(const char *name, const char *platform, tn_xla_handler_t *execute) {
  return enter_bundle(name, platform, (tn_xla_bundle_t){.execute = execute}, 0);
}

static int32_t look_up(const char *name, const char *platform, tn_xla_registered_t *out) {
  out->struct_size = sizeof *out;
  return tn_xla_find_handler(name, strlen(name), platform, strlen(platform), out);
}

static int is_handler(uint64_t address, tn_xla_handler_t *handler) { return address == address_of(handler); }

static int executes(const tn_xla_registered_t *found, tn_xla_handler_t *handler) {
  return is_handler(found->handlers[TN_XLA_EXECUTE], handler);
}

/* Finds the text of the newest refused registration of a name. Returns null if none was refused. */
static const char *refusal_of(const char *name) {
  static _Alignas(8) uint8_t list[1 << 16];
  static char text[512];
  size_t length = 0;
  if (tn_xla_list_handlers(list, sizeof list, &length) != TN_OK || length > sizeof list) return "too long";
  for (size_t at = 0; at < length;) {
    tn_xla_registration_t head;
    memcpy(&head, list + at, sizeof head);
    const char *texts = (const char *)list + at + sizeof head;
    const size_t before = (size_t)head.name_length + head.platform_length;
    if (head.reason_length > 0 && head.name_length == strlen(name) && memcmp(texts, name, strlen(name)) == 0) {
      snprintf(text, sizeof text, "%d.%d %.*s", (int)head.major, (int)head.minor, (int)head.reason_length, texts + before);
      return text;
    }
    at += (sizeof head + before + head.reason_length + 7) & ~(size_t)7;
  }
  return NULL;
}

TEST(platform_names_are_canonical) {
  tn_xla_registered_t found;
  CHECK(strcmp(enter("registry_host", "Host", first), "") == 0);
  const char *same[] = {"Host", "host", "HOST", "cpu", "CPU"};
  for (int i = 0; i < 5; i++) {
    CHECK(look_up("registry_host", same[i], &found) == TN_OK && executes(&found, first));
    CHECK(strstr(enter("registry_host", same[i], second), "different bundle addresses") != NULL);
  }
  CHECK(look_up("registry_host", "CUDA", &found) == TN_NOT_FOUND);
  CHECK(strcmp(enter("registry_host", "gpu", second), "") == 0);
  CHECK(look_up("registry_host", "CUDA", &found) == TN_OK && executes(&found, second));
}

TEST(duplicates_must_be_equal) {
  CHECK(strcmp(enter("registry_same", "Host", first), "") == 0);
  CHECK(strcmp(enter("registry_same", "Host", first), "") == 0);
  CHECK(strstr(enter("registry_same", "Host", second), "different bundle addresses") != NULL);
  CHECK(strstr(enter("registry_same", "Host", third), "different metadata") != NULL);
}

TEST(registration_checks_its_arguments) {
  CHECK(strstr(enter("registry_none", "Host", NULL), "must provide an execute implementation") != NULL);
  CHECK(strstr(enter("registry_new", "Host", from_the_future), "(0.5) is incompatible") != NULL);
  CHECK(strstr(enter("", "Host", first), "needs a name") != NULL);
  tn_xla_registered_t found;
  CHECK(look_up("registry_none", "Host", &found) == TN_NOT_FOUND);
  CHECK(strstr(tn_last_error(), "No FFI handler registered for registry_none on platform host") != NULL);
  CHECK(tn_xla_find_handler(NULL, 0, "Host", 4, &found) == TN_INVALID_ARGUMENT);
  found.struct_size = sizeof found - 1;
  CHECK(tn_xla_find_handler("a", 1, "Host", 4, &found) == TN_INVALID_ARGUMENT);
}

/* Registers another handler while it is asked for its metadata, as the constructor of its library may do. */
static tn_xla_error_t *registers_another(tn_xla_call_frame_t *frame) {
  tn_xla_registered_t found;
  if (enter("registry_inner", "Host", first)[0] != '\0' || look_up("registry_inner", "Host", &found) != TN_OK)
    return tn_xla_fail(frame, TN_XLA_INTERNAL, "the other handler is not registered");
  return answer(frame, 1);
}

TEST(no_lock_is_held_while_a_handler_is_asked_for_its_metadata) {
  CHECK(strcmp(enter("registry_outer", "Host", registers_another), "") == 0);
  tn_xla_registered_t found;
  CHECK(look_up("registry_outer", "Host", &found) == TN_OK && executes(&found, registers_another));
}

static tn_xla_error_t *throws(tn_xla_call_frame_t *frame) {
  (void)frame;
  throw_bad_array_new_length();
  return NULL;
}

TEST(a_handler_that_throws_when_it_is_asked_is_refused) {
  CHECK(strstr(enter("registry_throws", "Host", throws), "bad_array_new_length") != NULL);
  tn_xla_registered_t found;
  CHECK(look_up("registry_throws", "Host", &found) == TN_NOT_FOUND);
  CHECK(strncmp(refusal_of("registry_throws"), "-1.-1 ", 6) == 0);
  CHECK(strstr(refusal_of("registry_throws"), "bad_array_new_length") != NULL);
}

TEST(K38_both_layouts_of_a_registration_are_told_apart_by_their_size) {
  /* In the older layout the traits lie where the newer one has the address of `record`. */
  tn_xla_handler_register_args_v1_t older = {
      TN_XLA_SIZE_HANDLER_REGISTER_V1, NULL, {"sized_older", 11}, {"Host", 4}, {NULL, NULL, NULL, third}, 1};
  CHECK(strcmp(enter_args(&older), "") == 0);
  tn_xla_registered_t found;
  CHECK(look_up("sized_older", "Host", &found) == TN_OK && found.traits == 1 && found.minor == 3);
  CHECK(executes(&found, third) && found.handlers[TN_XLA_RECORD] == 0);
  const tn_xla_bundle_t five = {first, NULL, NULL, first, second};
  CHECK(strcmp(enter_bundle("sized_newer", "Host", five, 0), "") == 0);
  CHECK(look_up("sized_newer", "Host", &found) == TN_OK && found.traits == 0 && found.minor == 1);
  CHECK(is_handler(found.handlers[TN_XLA_RECORD], second) && is_handler(found.handlers[TN_XLA_INSTANTIATE], first));
  const size_t wrong_sizes[] = {83, 85, 88, 91};
  for (int i = 0; i < 4; i++) {
    tn_xla_handler_register_args_t args = {wrong_sizes[i], NULL, {"sized_wrong", 11}, {"Host", 4}, five, 0};
    CHECK(strstr(enter_args(&args), "Handler_Register_Args size: expected 84, or at least 92") != NULL);
  }
  tn_xla_handler_register_args_t longer = {200, NULL, {"sized_longer", 12}, {"Host", 4}, five, 1};
  CHECK(strcmp(enter_args(&longer), "") == 0);
  longer.struct_size = 47;
  CHECK(strstr(enter_args(&longer), "expected 84, got 47") != NULL);
}

TEST(K38_bundles_are_compared_with_record) {
  const tn_xla_bundle_t one = {NULL, NULL, NULL, first, first}, other = {NULL, NULL, NULL, first, second};
  CHECK(strcmp(enter_bundle("registry_record", "Host", one, 0), "") == 0);
  CHECK(strcmp(enter_bundle("registry_record", "Host", one, 0), "") == 0);
  CHECK(strstr(enter_bundle("registry_record", "Host", other, 0), "different bundle addresses") != NULL);
}

TEST(K41_refused_registrations_are_kept_with_their_reason) {
  CHECK(strstr(enter("refused_new", "cpu", from_the_future), "(0.5) is incompatible") != NULL);
  CHECK(strncmp(refusal_of("refused_new"), "0.5 XLA FFI handler registration", 32) == 0);
  tn_xla_registered_t found;
  CHECK(look_up("refused_new", "Host", &found) == TN_VERSION_MISMATCH);
  CHECK(executes(&found, from_the_future) && found.minor == 5);
  CHECK(refusal_of("sized_newer") == NULL);
  CHECK(strstr(refusal_of("sized_wrong"), "expected 84, or at least 92") != NULL);
  CHECK(look_up("sized_wrong", "Host", &found) == TN_NOT_FOUND);
  /* An accepted registration takes precedence. */
  CHECK(strcmp(enter("refused_new", "Host", first), "") == 0);
  CHECK(look_up("refused_new", "Host", &found) == TN_OK && executes(&found, first));
}

static int host_function(const char *name, void *expected) {
  uint64_t address = 1;
  const int32_t status = tn_xla_find_function(name, strlen(name), "Host", 4, &address);
  const int is_found = status == TN_OK && address == (uint64_t)(uintptr_t)expected;
  return expected == NULL ? status == TN_NOT_FOUND && address == 0 : is_found;
}

TEST(untyped_functions_are_registered_by_exact_name_and_platform) {
  static char a = 1, b = 1;
  tn_xla_register_function("untyped_a", 9, "Host", 4, &a);
  CHECK(host_function("untyped_a", &a) && host_function("untyped_A", NULL));
  uint64_t address = 1;
  CHECK(tn_xla_find_function("untyped_a", 9, "host", 4, &address) == TN_NOT_FOUND && address == 0);
  CHECK(tn_xla_registered_function("untyped_a", 9, "Host", 4) == &a);
  tn_xla_register_function("untyped_a", 9, "Host", 4, &a);
  tn_xla_register_function("untyped_a", 9, "Host", 4, &b);
  CHECK(host_function("untyped_a", &a));
  CHECK(strcmp(refusal_of("untyped_a"), "-1.-1 another function is registered as untyped_a for Host") == 0);
  tn_xla_registered_t found;
  CHECK(look_up("untyped_a", "Host", &found) == TN_NOT_FOUND);
  CHECK(strcmp(enter("untyped_a", "Host", first), "") == 0);
  CHECK(look_up("untyped_a", "Host", &found) == TN_OK && executes(&found, first) && host_function("untyped_a", &a));
}

TEST(untyped_functions_without_a_name_a_platform_or_an_address_are_not_registered) {
  static char a = 1;
  static char long_name[65537];
  memset(long_name, 'n', sizeof long_name);
  tn_xla_register_function(NULL, 9, "Host", 4, &a);
  tn_xla_register_function("untyped_b", 0, "Host", 4, &a);
  tn_xla_register_function("untyped_b", 9, NULL, 4, &a);
  tn_xla_register_function("untyped_b", 9, "Host", 4, NULL);
  tn_xla_register_function(long_name, 65536, "Host", 4, &a);
  CHECK(host_function("untyped_b", NULL) && tn_xla_registered_function(long_name, 65536, "Host", 4) == NULL);
  tn_xla_register_function(long_name, 65535, "Host", 4, &a);
  CHECK(tn_xla_registered_function(long_name, 65535, "Host", 4) == &a);
}

static size_t list_size(void) {
  size_t length = 0;
  return tn_xla_list_handlers(NULL, 0, &length) == TN_OK ? length : SIZE_MAX;
}

TEST(K41_at_most_4096_refused_registrations_are_kept) {
  char name[24];
  enter("refused_twice", "Host", NULL);
  const size_t before = list_size();
  enter("refused_twice", "Host", NULL); /* as by a library that is loaded twice */
  CHECK(list_size() == before);
  for (int i = 0; i < TN_XLA_MOST_REFUSED; i++) {
    snprintf(name, sizeof name, "refused_%04d", i);
    enter(name, "Host", NULL);
  }
  const size_t after = list_size();
  CHECK(strstr(enter("refused_last", "Host", NULL), "must provide an execute implementation") != NULL);
  CHECK(list_size() == after);
  CHECK(strcmp(enter("accepted_last", "Host", first), "") == 0);
  CHECK(list_size() > after);
}
