/* error.c, api.c and status.c: errors, the table, and the untyped status. */
#include "check.h"
#include "support.h"
#include "tenon/xla_custom_call.h"

static const tn_xla_api_t *api(void) { return XLA_FFI_GetApi(); }

static tn_xla_error_t *create(int32_t code, const char *message) {
  tn_xla_error_create_args_t args = {TN_XLA_SIZE_ERROR_CREATE, NULL, message, code};
  return api()->error_create(&args);
}

static const char *message_of(tn_xla_error_t *error) {
  tn_xla_error_get_message_args_t args = {sizeof args, NULL, error, NULL};
  api()->error_get_message(&args);
  return args.message;
}

static void destroy(tn_xla_error_t *error) {
  tn_xla_error_destroy_args_t args = {sizeof args, NULL, error};
  api()->error_destroy(&args);
}

TEST(xla_error_copies_its_message) {
  const size_t before = tn_xla_live_errors();
  char text[] = "first";
  tn_xla_error_t *error = create(TN_XLA_ABORTED, text);
  text[0] = 'X';
  CHECK(strcmp(message_of(error), "first") == 0);
  CHECK(tn_xla_live_errors() == before + 1);
  destroy(error);
  CHECK(tn_xla_live_errors() == before);
}

TEST(xla_error_ignores_foreign_pointers) {
  const size_t before = tn_xla_live_errors();
  int64_t other[8] = {0};
  CHECK(strcmp(message_of((tn_xla_error_t *)(void *)other), "") == 0);
  destroy((tn_xla_error_t *)(void *)other);
  tn_xla_error_t *error = create(TN_XLA_INTERNAL, NULL);
  CHECK(strcmp(message_of(error), "") == 0);
  destroy(error);
  destroy(error); /* a second time, and null, are ignored */
  destroy(NULL);
  CHECK(tn_xla_live_errors() == before);
}

TEST(xla_error_of_too_short_arguments_names_them) {
  tn_xla_error_create_args_t args = {16, NULL, "text", TN_XLA_INTERNAL};
  tn_xla_error_t *error = api()->error_create(&args);
  CHECK(strstr(message_of(error), "XLA_FFI_Error_Create_Args size: expected 28, got 16") != NULL);
  destroy(error);
}

TEST(xla_functions_refuse_null_in_the_place_of_their_arguments) {
  const size_t before = tn_xla_live_errors();
  for (int32_t minor = 1; minor <= TN_XLA_NEWEST_MINOR; minor++) {
    CHECK(tn_xla_offer(minor) == TN_OK);
    const tn_xla_api_t *table = api();
    CHECK(tn_xla_offer(0) == TN_OK);
    tn_xla_error_t *errors[] = {
      table->error_create(NULL), table->handler_register(NULL), table->stream_get(NULL), table->type_register(NULL),
      table->context_get(NULL), table->state_set(NULL), table->state_get(NULL), table->memory_allocate(NULL),
      table->memory_free(NULL), table->pool_schedule(NULL), table->pool_num_threads(NULL), table->future_create(NULL),
      table->future_set_available(NULL), table->future_set_error(NULL), table->run_id_get(NULL),
      table->device_ordinal_get(NULL), table->find_extension(NULL),
    };
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
      const char *message = message_of(errors[i]);
      CHECK(strstr(message, "must not be null") != NULL || strstr(message, "is not part of the XLA FFI") != NULL);
      destroy(errors[i]);
    }
    table->error_get_message(NULL);
    table->error_destroy(NULL);
  }
  CHECK(tn_xla_live_errors() == before);
}

TEST(xla_api_is_found_under_both_names) {
  const tn_xla_api_t *_ZN3xla3ffi12GetXlaFfiApiEv(void);
  CHECK(_ZN3xla3ffi12GetXlaFfiApiEv() == api());
  CHECK(api()->struct_size == 200 && api()->internal_api == NULL);
  CHECK(api()->api_version.major_version == 0 && api()->api_version.minor_version == 4);
}

TEST(K35_each_version_has_its_table) {
  const size_t sizes[] = {88, 192, 200, 200};
  for (int32_t minor = 1; minor <= 4; minor++) {
    CHECK(tn_xla_offer(minor) == TN_OK);
    CHECK(api()->api_version.minor_version == minor && api()->struct_size == sizes[minor - 1]);
    tn_xla_context_extension_t other = {sizeof other, {7, 0, 0}, NULL};
    tn_xla_find_extension_args_t args = {sizeof args, NULL, NULL, 128, &other};
    tn_xla_error_t *error = api()->find_extension(&args);
    if (minor < 3) CHECK(strstr(message_of(error), "0.1 to 0.4") != NULL);
    else CHECK(error == NULL && args.extension == NULL);
    destroy(error);
  }
  CHECK(tn_xla_offer(5) == TN_INVALID_ARGUMENT);
  CHECK(tn_xla_offer(0) == TN_OK && api()->api_version.minor_version == 4);
}

TEST(K37_find_extension_checks_the_size_of_its_arguments) {
  tn_xla_find_extension_args_t args = {39, NULL, NULL, 128, NULL};
  tn_xla_error_t *error = api()->find_extension(&args);
  CHECK(strstr(message_of(error), "XLA_FFI_InvokeContext_FindExtension_Args size: expected 40, got 39") != NULL);
  destroy(error);
}

TEST(K36_details_of_an_error_are_written_only_if_there_is_room) {
  tn_xla_error_t *error = create(TN_XLA_UNIMPLEMENTED, "text");
  tn_xla_error_get_details_args_t args = {TN_XLA_SIZE_ERROR_GET_DETAILS, NULL, error, NULL, -7};
  api()->error_get_message(&args);
  CHECK(args.errc == TN_XLA_UNIMPLEMENTED && strcmp(args.message, "text") == 0);
  const size_t sizes[] = {32, 35};
  for (int i = 0; i < 2; i++) {
    tn_xla_error_get_details_args_t older = {sizes[i], NULL, error, NULL, -7};
    api()->error_get_message(&older);
    CHECK(older.errc == -7 && strcmp(older.message, "text") == 0);
  }
  tn_xla_error_get_details_args_t shorter = {31, NULL, error, NULL, -7};
  api()->error_get_message(&shorter);
  CHECK(shorter.errc == -7 && shorter.message == NULL);
  destroy(error);
  args = (tn_xla_error_get_details_args_t){TN_XLA_SIZE_ERROR_GET_DETAILS, NULL, error, NULL, -7};
  api()->error_get_message(&args); /* not an error any more */
  CHECK(args.errc == TN_XLA_INTERNAL && strcmp(args.message, "") == 0);
}

TEST(xla_api_answers_in_slots_after_its_end) {
  tn_xla_error_t *(*const *slots)(void *) = (tn_xla_error_t * (*const *)(void *))(const void *)(api() + 1);
  for (int i = 0; i < 16; i++) {
    tn_xla_error_t *error = slots[i](NULL);
    CHECK(strstr(message_of(error), "0.1 to 0.4") != NULL);
    destroy(error);
  }
}

static void fail_with(XlaCustomCallStatus *status, const char *text, size_t length) {
  XlaCustomCallStatusSetFailure(status, text, length);
}

TEST(status_keeps_the_last_result) {
  XlaCustomCallStatus status = {0, 0, NULL};
  fail_with(&status, "broken\0tail", 11);
  CHECK(status.failed && status.length == 6 && memcmp(status.message, "broken", 6) == 0); /* up to the first NUL */
  fail_with(&status, "second failure", 6);
  CHECK(status.failed && status.length == 6 && memcmp(status.message, "second", 6) == 0); /* up to the length */
  XlaCustomCallStatusSetSuccess(&status);
  CHECK(!status.failed && status.length == 0);
  fail_with(&status, "", 0);
  CHECK(status.failed && status.length == 0); /* a failure without a message */
  fail_with(&status, NULL, 5);
  CHECK(status.failed && status.length == 0);
  XlaCustomCallStatusSetSuccess(&status);
  XlaCustomCallStatusSetSuccess(NULL);
  fail_with(NULL, "nobody", 6);
}
