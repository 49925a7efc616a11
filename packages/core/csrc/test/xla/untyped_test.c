#include "check.h"
#include "support.h"

#include "tenon/xla_custom_call.h"

#define AS(function) ((void (*)(void))(function))

static const char *seen_opaque;
static size_t seen_length;
static void *seen_stream;

static void add(void *out, const void **in) { *(int *)out = *(const int *)in[0] + *(const int *)in[1]; }

static void add_with_status(void *out, const void **in, XlaCustomCallStatus *status) {
  add(out, in);
  if (*(int *)out < 0) XlaCustomCallStatusSetFailure(status, "negative", 8);
}

static void add_unified(void *out, const void **in, const char *opaque, size_t length, XlaCustomCallStatus *status) {
  seen_opaque = opaque;
  seen_length = length;
  add_with_status(out, in, status);
}

static void add_on_device(void *stream, void **buffers, const char *opaque, size_t length) {
  seen_stream = stream;
  seen_opaque = opaque;
  seen_length = length;
  *(int *)buffers[2] = *(int *)buffers[0] + *(int *)buffers[1];
}

static void fail_on_device(void *stream, void **buffers, const char *opaque, size_t length, XlaCustomCallStatus *status) {
  add_on_device(stream, buffers, opaque, length);
  XlaCustomCallStatusSetFailure(status, "", 0);
}

TEST(each_host_convention_gets_its_arguments) {
  int a = 2, b = 3, sum = 0;
  void *in[] = {&a, &b}, *out = &sum;
  tn_xla_untyped_call_t call = {.function = AS(add), .api_version = 1, .buffers = in, .out = &out, .opaque = "x", .opaque_length = 1};
  CHECK(tn_xla_execute_untyped(&call) == TN_OK && sum == 5);
  call.function = AS(add_with_status);
  call.api_version = 2;
  a = 3;
  CHECK(tn_xla_execute_untyped(&call) == TN_OK && sum == 6);
  call.function = AS(add_unified);
  call.api_version = 3;
  a = 4;
  CHECK(tn_xla_execute_untyped(&call) == TN_OK && sum == 7);
  CHECK(seen_opaque == call.opaque && seen_length == 1);
}

TEST(devices_get_stream_buffers_and_opaque) {
  int a = 2, b = 3, sum = 0, stream = 0;
  void *buffers[] = {&a, &b, &sum};
  tn_xla_untyped_call_t call = {.function = AS(add_on_device),
                                .api_version = 1,
                                .on_device = 1,
                                .buffers = buffers,
                                .opaque = "a\0b",
                                .opaque_length = 3,
                                .stream = &stream};
  CHECK(tn_xla_execute_untyped(&call) == TN_OK && sum == 5);
  CHECK(seen_stream == &stream && seen_opaque == call.opaque && seen_length == 3);
  call.function = AS(fail_on_device);
  for (call.api_version = 2; call.api_version <= 3; call.api_version++) {
    sum = 0;
    CHECK(tn_xla_execute_untyped(&call) == TN_KERNEL_FAILED && sum == 5);
  }
}

TEST(a_failure_is_read_whole_and_once) {
  int a = -2, b = -3, sum = 0;
  void *in[] = {&a, &b}, *out = &sum;
  char text[16] = "";
  size_t length = 0;
  tn_xla_untyped_call_t call = {.function = AS(add_with_status), .api_version = 2, .buffers = in, .out = &out};
  CHECK(tn_xla_untyped_failure(&call, text, sizeof text, &length) == TN_NOT_FOUND);
  CHECK(tn_xla_execute_untyped(&call) == TN_KERNEL_FAILED);
  CHECK(tn_xla_untyped_failure(&call, text, 3, &length) == TN_OK && length == 8 && memcmp(text, "neg", 4) == 0);
  CHECK(tn_xla_untyped_failure(&call, text, sizeof text, &length) == TN_OK && length == 8 && strcmp(text, "negative") == 0);
  CHECK(tn_xla_untyped_failure(&call, text, sizeof text, &length) == TN_NOT_FOUND);
  CHECK(tn_xla_execute_untyped(&call) == TN_KERNEL_FAILED);
  a = 9; /* the next run frees an unread failure */
  CHECK(tn_xla_execute_untyped(&call) == TN_OK && call.status.message == NULL);
}

TEST(an_untyped_call_refuses_unknown_conventions) {
  tn_xla_untyped_call_t call = {.function = AS(add)};
  CHECK(tn_xla_execute_untyped(NULL) == TN_INVALID_ARGUMENT);
  CHECK(tn_xla_execute_untyped(&call) == TN_INVALID_ARGUMENT);
  call.api_version = TN_XLA_CALL_TYPED_FFI;
  CHECK(tn_xla_execute_untyped(&call) == TN_INVALID_ARGUMENT);
  size_t length = 0;
  CHECK(tn_xla_untyped_failure(NULL, NULL, 0, &length) == TN_INVALID_ARGUMENT);
  CHECK(tn_xla_untyped_failure(&call, NULL, 1, &length) == TN_INVALID_ARGUMENT);
  CHECK(tn_xla_untyped_failure(&call, NULL, 0, NULL) == TN_INVALID_ARGUMENT);
}
