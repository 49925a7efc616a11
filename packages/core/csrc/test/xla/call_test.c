/* call.c, future.c and context.c: metadata, stages, failures, futures, and refusals of the context. */
#include "check.h"
#include "support.h"
#include "thread.h"

static void *prepare_bundle(uint32_t minor, tn_xla_bundle_v1_t bundle) {
  descriptor_t d;
  put_header(&d, minor, 0, 0, 0, bundle);
  return prepare(&d);
}

static void *prepare_one(tn_xla_handler_t *execute) {
  return prepare_bundle(3, (tn_xla_bundle_v1_t){NULL, NULL, NULL, execute});
}

static tn_xla_error_t *of_version_2(tn_xla_call_frame_t *frame) {
  static const tn_xla_signature_t signature = {2, TN_XLA_EXECUTE, TN_XLA_TRAIT_COMMAND_BUFFER_COMPATIBLE, 0, 0, 0};
  tn_xla_reader_t in;
  return tn_xla_open(&in, frame, &signature) ? NULL : in.error;
}

static tn_xla_error_t *of_version_0(tn_xla_call_frame_t *frame) {
  tn_xla_answer_metadata(frame, 0, 0);
  return NULL;
}

static tn_xla_error_t *unregistered(tn_xla_call_frame_t *frame) {
  return tn_xla_fail(frame, TN_XLA_FAILED_PRECONDITION, "register first");
}

static tn_xla_error_t *silent(tn_xla_call_frame_t *frame) {
  (void)frame;
  return NULL;
}

static int32_t ask(tn_xla_handler_t *handler, tn_xla_metadata_t *out, int32_t *code) {
  return tn_xla_metadata((void *)(uintptr_t)address_of(handler), out, code);
}

TEST(metadata_has_version_and_traits) {
  tn_xla_metadata_t metadata;
  int32_t code = 0;
  CHECK(ask(of_version_2, &metadata, &code) == TN_OK);
  CHECK(metadata.api_version.major_version == 0 && metadata.api_version.minor_version == 2 && metadata.traits == 1);
  CHECK(ask(silent, &metadata, &code) == TN_OK);
  CHECK(metadata.api_version.minor_version == 0); /* 0.0: not a handler */
  CHECK(metadata.api_version.struct_size == 0);
  CHECK(ask(of_version_0, &metadata, &code) == TN_OK);
  CHECK(metadata.api_version.minor_version == 0 && metadata.api_version.struct_size != 0);
  CHECK(ask(unregistered, &metadata, &code) == TN_KERNEL_FAILED && code == TN_XLA_FAILED_PRECONDITION);
  CHECK(strcmp(tn_last_error(), "register first") == 0);
  CHECK(tn_xla_metadata(NULL, &metadata, &code) == TN_INVALID_ARGUMENT);
}

static tn_xla_error_t *fail_99(tn_xla_call_frame_t *frame) { return tn_xla_fail(frame, 99, "ninety-nine"); }

static tn_xla_error_t *fail_ok(tn_xla_call_frame_t *frame) { return tn_xla_fail(frame, TN_XLA_OK, "all is well"); }

static tn_xla_error_t *garbage(tn_xla_call_frame_t *frame) { return (tn_xla_error_t *)(void *)frame; }

TEST(a_failure_is_read_once_and_keeps_its_code) {
  const size_t before = tn_xla_live_errors();
  void *call = prepare_one(fail_99);
  CHECK(call != NULL && tn_xla_execute(call) == TN_KERNEL_FAILED);
  char text[4];
  int32_t code = 0, stage = 0;
  size_t length = 0;
  CHECK(tn_xla_failure(call, &code, &stage, text, 4, &length) == TN_OK && code == 99 && length == 11); /* truncated, so it is kept */
  const failure_t failure = failure_of(call);
  CHECK(failure.code == 99 && strcmp(failure.text, "ninety-nine") == 0);
  CHECK(tn_xla_failure(call, &code, &stage, text, 4, &length) == TN_NOT_FOUND);
  CHECK(tn_xla_execute(call) == TN_KERNEL_FAILED && tn_xla_execute(call) == TN_KERNEL_FAILED); /* unread failures are freed */
  CHECK(tn_xla_live_errors() == before + 1);
  finish(call);
  CHECK(tn_xla_live_errors() == before);
}

TEST(an_error_with_code_ok_is_success) {
  const size_t before = tn_xla_live_errors();
  void *call = prepare_one(fail_ok);
  CHECK(call != NULL && tn_xla_execute(call) == TN_OK);
  CHECK(tn_xla_live_errors() == before);
  finish(call);
}

TEST(a_pointer_that_is_not_an_error_is_never_followed) {
  void *call = prepare_one(garbage);
  CHECK(call != NULL && tn_xla_execute(call) == TN_KERNEL_FAILED);
  const failure_t failure = failure_of(call);
  CHECK(failure.code == TN_XLA_INTERNAL && strstr(failure.text, "not an error of this runtime") != NULL);
  finish(call);
}

static char order[8];

static tn_xla_error_t *note(tn_xla_call_frame_t *frame) {
  order[strlen(order)] = "IPNE"[frame->stage];
  return frame->stage == TN_XLA_INSTANTIATE && frame->args.size + frame->rets.size != 0 ? fail_99(frame) : NULL;
}

static tn_xla_error_t *note_and_fail(tn_xla_call_frame_t *frame) {
  note(frame);
  return fail_99(frame);
}

TEST(stages_run_in_order_and_instantiate_sees_only_attributes) {
  descriptor_t d;
  put_header(&d, 3, 1, 1, 0, (tn_xla_bundle_v1_t){note, note, note, note});
  put_buffer(&d, TN_XLA_F32, 0, NULL);
  put_buffer(&d, TN_XLA_F32, 0, NULL);
  void *call = prepare(&d);
  CHECK(call != NULL);
  memset(order, 0, sizeof order);
  CHECK(tn_xla_instantiate(call) == TN_OK && tn_xla_execute(call) == TN_OK);
  CHECK(strcmp(order, "IPNE") == 0);
  finish(call);
}

TEST(a_failing_stage_stops_the_run) {
  void *call = prepare_bundle(3, (tn_xla_bundle_v1_t){NULL, note, note_and_fail, note});
  memset(order, 0, sizeof order);
  CHECK(call != NULL && tn_xla_execute(call) == TN_KERNEL_FAILED);
  CHECK(strcmp(order, "PN") == 0);
  CHECK(failure_of(call).stage == TN_XLA_INITIALIZE);
  finish(call);
}

static tn_xla_future_t *pending;
static const tn_xla_api_t *pending_api;

static void *complete_later(void *arg) {
  (void)arg;
  tn_xla_future_available_args_t args = {sizeof args, NULL, pending};
  pending_api->future_set_available(&args);
  return NULL;
}

static tn_xla_future_t *create_future(tn_xla_call_frame_t *frame) {
  tn_xla_future_create_args_t args = {TN_XLA_SIZE_FUTURE_CREATE, NULL, NULL};
  frame->api->future_create(&args);
  return args.future;
}

static test_thread_t completer;

static tn_xla_error_t *from_a_thread(tn_xla_call_frame_t *frame) {
  pending = frame->future = create_future(frame);
  pending_api = frame->api;
  if (!thread_start(&completer, complete_later, NULL)) return tn_xla_fail(frame, TN_XLA_INTERNAL, "no thread");
  return NULL;
}

static tn_xla_error_t *failed_future(tn_xla_call_frame_t *frame) {
  tn_xla_future_error_args_t args = {sizeof args, NULL, create_future(frame), tn_xla_fail(frame, TN_XLA_ABORTED, "later")};
  frame->future = args.future;
  return frame->api->future_set_error(&args);
}

static tn_xla_error_t *error_and_future(tn_xla_call_frame_t *frame) {
  pending = frame->future = create_future(frame);
  pending_api = frame->api;
  return tn_xla_fail(frame, TN_XLA_INTERNAL, "both");
}

static tn_xla_error_t *foreign_future(tn_xla_call_frame_t *frame) {
  frame->future = (tn_xla_future_t *)(void *)frame;
  return NULL;
}

/* Completes the pending future with an error. Returns whether that was refused. */
static int fail_pending(tn_xla_call_frame_t *frame) {
  tn_xla_future_error_args_t args = {sizeof args, NULL, pending, tn_xla_fail(frame, TN_XLA_ABORTED, "too late")};
  tn_xla_error_destroy_args_t refusal = {sizeof refusal, NULL, frame->api->future_set_error(&args)};
  if (refusal.error == NULL) return 0;
  frame->api->error_destroy(&refusal);
  return 1;
}

static int refusals;

static tn_xla_error_t *future_that_fails_late(tn_xla_call_frame_t *frame) {
  pending = frame->future = create_future(frame);
  pending_api = frame->api;
  complete_later(NULL);
  refusals = fail_pending(frame) + fail_pending(frame);
  return NULL;
}

static tn_xla_error_t *unknown_future_that_fails(tn_xla_call_frame_t *frame) {
  pending = (tn_xla_future_t *)(void *)frame;
  refusals = fail_pending(frame);
  pending = NULL;
  refusals += fail_pending(frame);
  return NULL;
}

static tn_xla_call_frame_t *abandoning;

static tn_xla_error_t *abandoned_future(tn_xla_call_frame_t *frame) {
  abandoning = frame;
  return error_and_future(frame);
}

TEST(an_error_of_a_future_is_freed_whether_it_is_accepted_or_refused) {
  static tn_xla_handler_t *const handlers[] = {future_that_fails_late, unknown_future_that_fails};
  const size_t errors = tn_xla_live_errors(), futures = tn_xla_live_futures();
  for (int i = 0; i < 2; i++) {
    void *call = prepare_one(handlers[i]);
    CHECK(call != NULL && tn_xla_execute(call) == TN_OK && refusals == 2);
    CHECK(tn_xla_live_errors() == errors);
    finish(call);
  }
  void *call = prepare_one(abandoned_future);
  CHECK(call != NULL && tn_xla_execute(call) == TN_KERNEL_FAILED);
  const size_t before = tn_xla_live_errors();
  CHECK(!fail_pending(abandoning) && tn_xla_live_errors() == before && tn_xla_live_futures() == futures);
  finish(call);
  CHECK(tn_xla_live_errors() == errors && tn_xla_live_futures() == futures);
}

static tn_xla_error_t *misused_future(tn_xla_call_frame_t *frame) {
  tn_xla_future_error_args_t args = {sizeof args, NULL, create_future(frame), NULL};
  tn_xla_error_t *null_error = frame->api->future_set_error(&args);
  tn_xla_future_available_args_t done = {sizeof done, NULL, args.future};
  if (null_error == NULL || frame->api->future_set_available(&done) != NULL) return NULL;
  frame->future = args.future;
  tn_xla_error_destroy_args_t destroy = {sizeof destroy, NULL, null_error};
  frame->api->error_destroy(&destroy);
  destroy.error = frame->api->future_set_available(&done); /* already complete */
  frame->api->error_destroy(&destroy);
  return destroy.error == NULL ? fail_99(frame) : NULL;
}

TEST(a_future_is_waited_for) {
  const size_t errors = tn_xla_live_errors(), futures = tn_xla_live_futures();
  void *call = prepare_one(from_a_thread);
  CHECK(call != NULL);
  for (int i = 0; i < 20; i++) {
    CHECK(tn_xla_execute(call) == TN_OK);
    thread_join(&completer);
  }
  finish(call);
  call = prepare_one(failed_future);
  CHECK(call != NULL && tn_xla_execute(call) == TN_KERNEL_FAILED);
  const failure_t failure = failure_of(call);
  CHECK(failure.code == TN_XLA_ABORTED && strcmp(failure.text, "later") == 0);
  finish(call);
  call = prepare_one(misused_future);
  CHECK(call != NULL && tn_xla_execute(call) == TN_OK);
  finish(call);
  CHECK(tn_xla_live_errors() == errors && tn_xla_live_futures() == futures);
}

TEST(a_future_with_an_error_is_abandoned) {
  const size_t futures = tn_xla_live_futures();
  void *call = prepare_one(error_and_future);
  CHECK(call != NULL && tn_xla_execute(call) == TN_KERNEL_FAILED);
  CHECK(tn_xla_live_futures() == futures + 1); /* until it completes */
  complete_later(NULL);
  CHECK(tn_xla_live_futures() == futures);
  finish(call);
}

TEST(a_foreign_future_is_never_followed) {
  void *call = prepare_one(foreign_future);
  CHECK(call != NULL && tn_xla_execute(call) == TN_KERNEL_FAILED);
  CHECK(failure_of(call).code == TN_XLA_INTERNAL);
  CHECK(tn_xla_execute(call) == TN_KERNEL_FAILED);
  finish(call);
}

static tn_xla_error_t *get_stream(tn_xla_call_frame_t *frame) {
  tn_xla_stream_get_args_t args = {sizeof args, NULL, frame->ctx, NULL};
  return frame->api->stream_get(&args);
}

static tn_xla_error_t *allocate(tn_xla_call_frame_t *frame) {
  tn_xla_memory_allocate_args_t args = {sizeof args, NULL, frame->ctx, 64, 16, NULL};
  return frame->api->memory_allocate(&args);
}

static tn_xla_error_t *deallocate(tn_xla_call_frame_t *frame) {
  tn_xla_memory_free_args_t args = {sizeof args, NULL, frame->ctx, 64, NULL};
  return frame->api->memory_free(&args);
}

static int64_t run_ids[2];
static int32_t ordinal;

static tn_xla_error_t *get_run(tn_xla_call_frame_t *frame) {
  tn_xla_device_ordinal_get_args_t device = {TN_XLA_SIZE_DEVICE_ORDINAL_GET, NULL, frame->ctx, 0};
  tn_xla_error_t *wrong = frame->api->device_ordinal_get(&device);
  ordinal = device.device_ordinal;
  for (int i = 0; i < 2 && wrong == NULL; i++) {
    tn_xla_run_id_get_args_t args = {sizeof args, NULL, frame->ctx, 0};
    wrong = frame->api->run_id_get(&args);
    run_ids[i] = args.run_id;
  }
  return wrong;
}

static failure_t fails(tn_xla_handler_t *handler, uint32_t minor) {
  failure_t failure = {TN_XLA_OK, -1, ""};
  void *call = prepare_bundle(minor, (tn_xla_bundle_v1_t){NULL, NULL, NULL, handler});
  if (call == NULL) return failure;
  if (tn_xla_execute(call) == TN_KERNEL_FAILED) failure = failure_of(call);
  finish(call);
  return failure;
}

TEST(a_host_context_refuses_what_belongs_to_devices) {
  failure_t failure = fails(get_stream, 3);
  CHECK(failure.code == TN_XLA_UNIMPLEMENTED && strcmp(failure.text, "XLA FFI GPU context is not available") == 0);
  failure = fails(allocate, 3);
  CHECK(failure.code == TN_XLA_INVALID_ARGUMENT && strstr(failure.text, "GPU context is not available") != NULL);
  CHECK(fails(deallocate, 3).code == TN_XLA_UNIMPLEMENTED);
}

TEST(each_run_has_one_unique_run_id) {
  void *call = prepare_one(get_run);
  CHECK(call != NULL && tn_xla_execute(call) == TN_OK);
  const int64_t first = run_ids[0];
  CHECK(first > 0 && run_ids[1] == first && ordinal == -1);
  CHECK(tn_xla_execute(call) == TN_OK && run_ids[0] != first);
  finish(call);
  /* The later headers of 0.1 have both functions. */
  CHECK(fails(get_run, 1).code == TN_XLA_OK && run_ids[0] > first);
}

static void *found;

static tn_xla_error_t *get_data(tn_xla_call_frame_t *frame) {
  tn_xla_type_id_t id = {4711};
  tn_xla_context_get_args_t args = {sizeof args, NULL, frame->ctx, &id, NULL};
  tn_xla_error_t *wrong = frame->api->context_get(&args);
  found = args.data;
  return wrong;
}

TEST(user_data_is_found_by_its_type) {
  int data = 0;
  void *call = prepare_one(get_data);
  CHECK(call != NULL && tn_xla_execute(call) == TN_KERNEL_FAILED);
  CHECK(failure_of(call).code == TN_XLA_NOT_FOUND);
  CHECK(tn_xla_lend(call, 4711, NULL) == TN_INVALID_ARGUMENT);
  CHECK(tn_xla_lend(call, 4711, &data) == TN_OK);
  CHECK(tn_xla_lend(call, 4711, &data) == TN_INVALID_ARGUMENT);
  CHECK(tn_xla_execute(call) == TN_OK && found == &data);
  finish(call);
}
