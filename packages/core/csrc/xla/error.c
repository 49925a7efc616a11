/* Errors of XLA FFI, which handlers create through the table: a code and a message. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "error.h"
#include "internal.h"

static tn__lock_t lock = TN__LOCK;
static tn__xla_set_t live;

/* The error when there is no memory for one. Always alive, never freed. */
static tn_xla_error_t out_of_memory = {{NULL}, TN_XLA_RESOURCE_EXHAUSTED, 13, "out of memory"};

static tn_xla_error_t *create(int32_t code, const char *message, size_t length) {
  tn_xla_error_t *error = length > SIZE_MAX - sizeof *error - 1 ? NULL : malloc(sizeof *error + length + 1);
  if (error == NULL) return &out_of_memory;
  char *copy = (char *)(error + 1);
  memcpy(copy, message, length);
  copy[length] = '\0';
  error->code = code;
  error->length = length;
  error->message = copy;
  tn__lock(&lock);
  tn__xla_set_add(&live, &error->member);
  tn__unlock(&lock);
  return error;
}

tn_xla_error_t *tn__xla_error(int32_t code, const char *format, ...) {
  char message[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  return create(code, message, strlen(message));
}

int tn__xla_error_is_live(const tn_xla_error_t *error) {
  if (error == &out_of_memory) return 1;
  tn__lock(&lock);
  const int found = tn__xla_set_has(&live, error);
  tn__unlock(&lock);
  return found;
}

void tn__xla_error_destroy(tn_xla_error_t *error) {
  tn__lock(&lock);
  const int found = tn__xla_set_remove(&live, error);
  tn__unlock(&lock);
  if (found) free(error);
}

int32_t tn__xla_error_report(tn_xla_error_t *error, int32_t *code) {
  *code = error->code;
  tn__fail(TN_KERNEL_FAILED, "%s", error->message);
  tn__xla_error_destroy(error);
  return TN_KERNEL_FAILED;
}

size_t tn_xla_live_errors(void) { return tn__xla_set_count(&live, &lock); }

tn_xla_error_t *tn__xla_check_size(const char *what, size_t expected, const void *args) {
  if (args == NULL) return tn__xla_error(TN_XLA_INVALID_ARGUMENT, "%s must not be null", what);
  size_t actual = 0;
  memcpy(&actual, args, sizeof actual);
  if (actual >= expected) return NULL;
  return tn__xla_error(TN_XLA_INVALID_ARGUMENT,
                       "Unexpected %s size: expected %zu, got %zu. The handler and the runtime were built for "
                       "different versions of XLA FFI; this runtime speaks 0.1 to 0.%d.",
                       what, expected, actual, TN_XLA_NEWEST_MINOR);
}

tn_xla_error_t *tn__xla_error_create(tn_xla_error_create_args_t *args) {
  CHECK_SIZE("Error_Create", TN_XLA_SIZE_ERROR_CREATE);
  const char *message = args->message == NULL ? "" : args->message;
  return create(args->errc, message, strlen(message));
}

void tn__xla_error_get_details(void *pointer) {
  tn_xla_error_get_details_args_t *args = pointer;
  if (args == NULL || args->struct_size < sizeof(tn_xla_error_get_message_args_t)) return;
  const int is_live = tn__xla_error_is_live(args->error);
  args->message = is_live ? args->error->message : "";
  if (args->struct_size >= TN_XLA_SIZE_ERROR_GET_DETAILS) args->errc = is_live ? args->error->code : TN_XLA_INTERNAL;
}

void tn__xla_error_destroy_args(tn_xla_error_destroy_args_t *args) {
  if (args != NULL && args->struct_size >= sizeof *args) tn__xla_error_destroy(args->error);
}
