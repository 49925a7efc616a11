/* context.c, memory.c and batch.c: devices, memory for handlers, and batches. */
#include "check.h"
#include "support.h"

static int allocated, given_back, stage_with_stream;
static void *stream_seen;

static int32_t count_allocation(void *data, size_t size, size_t alignment, void **out) {
  (void)alignment;
  allocated++;
  *out = malloc(size);
  return data == &allocated ? TN_OK : TN_INVALID_ARGUMENT;
}

static int32_t count_free(void *data, void *memory, size_t size) {
  (void)data;
  (void)size;
  given_back++;
  free(memory);
  return TN_OK;
}

static const tn_xla_memory_t memory = {sizeof memory, count_allocation, count_free, &allocated};
static size_t wanted_alignment = 16;
static int frees_itself, asks_pool;

static tn_xla_error_t *take_memory(tn_xla_call_frame_t *frame) {
  tn_xla_memory_allocate_args_t args = {sizeof args, NULL, frame->ctx, 32, wanted_alignment, NULL};
  tn_xla_error_t *error = frame->api->memory_allocate(&args);
  if (error != NULL || !frees_itself) return error;
  tn_xla_memory_free_args_t free_args = {sizeof free_args, NULL, frame->ctx, 32, args.data};
  error = frame->api->memory_free(&free_args);
  if (error != NULL) return error;
  return frame->api->memory_free(&free_args);
}

static tn_xla_error_t *take_stream(tn_xla_call_frame_t *frame) {
  tn_xla_stream_get_args_t args = {sizeof args, NULL, frame->ctx, NULL};
  tn_xla_error_t *error = frame->api->stream_get(&args);
  if (error != NULL) return error;
  stream_seen = args.stream;
  stage_with_stream = frame->stage;
  if (!asks_pool) return NULL;
  int64_t threads = 0;
  tn_xla_pool_num_threads_args_t pool = {sizeof pool, NULL, frame->ctx, &threads};
  return frame->api->pool_num_threads(&pool);
}

static void *prepare_one(tn_xla_bundle_v1_t handlers) {
  descriptor_t d;
  put_header(&d, 3, 0, 0, 0, handlers);
  return prepare(&d);
}

TEST(xla_memory_is_refused_on_the_host_without_a_source) {
  void *call = prepare_one((tn_xla_bundle_v1_t){NULL, NULL, NULL, take_memory});
  CHECK(tn_xla_execute(call) == TN_KERNEL_FAILED);
  CHECK(failure_of(call).code == TN_XLA_INVALID_ARGUMENT);
  CHECK(tn_xla_give_memory(call, NULL) == TN_OK);
  CHECK(tn_xla_execute(call) == TN_OK);
  finish(call);
}

TEST(xla_memory_is_freed_with_the_run) {
  allocated = given_back = 0;
  void *call = prepare_one((tn_xla_bundle_v1_t){NULL, NULL, NULL, take_memory});
  CHECK(tn_xla_give_memory(call, &memory) == TN_OK);
  CHECK(tn_xla_execute(call) == TN_OK && tn_xla_execute(call) == TN_OK);
  CHECK(allocated == 2 && given_back == 2);
  wanted_alignment = 32;
  CHECK(tn_xla_execute(call) == TN_KERNEL_FAILED && strstr(failure_of(call).text, "Unsupported alignment: 32") != NULL);
  wanted_alignment = 16;
  frees_itself = 1;
  CHECK(tn_xla_execute(call) == TN_KERNEL_FAILED && strstr(failure_of(call).text, "was not allocated") != NULL);
  frees_itself = 0;
  CHECK(allocated == 3 && given_back == 3);
  finish(call);
}

TEST(xla_device_gives_its_stream_from_initialize_on) {
  int object = 0;
  const tn_xla_device_t with = {.struct_size = sizeof with, .has_stream = 1, .stream = &object};
  const tn_xla_device_t without = {.struct_size = sizeof without};
  void *call = prepare_one((tn_xla_bundle_v1_t){NULL, NULL, take_stream, take_stream});
  CHECK(tn_xla_on_device(call, &with) == TN_OK);
  CHECK(tn_xla_execute(call) == TN_OK && stream_seen == &object && stage_with_stream == TN_XLA_EXECUTE);
  asks_pool = 1;
  CHECK(tn_xla_execute(call) == TN_KERNEL_FAILED && failure_of(call).code == TN_XLA_UNIMPLEMENTED);
  asks_pool = 0;
  CHECK(tn_xla_on_device(call, &without) == TN_OK);
  CHECK(tn_xla_execute(call) == TN_KERNEL_FAILED && strstr(failure_of(call).text, "stream is not available") != NULL);
  finish(call);
  call = prepare_one((tn_xla_bundle_v1_t){NULL, take_stream, NULL, take_stream});
  CHECK(tn_xla_on_device(call, &with) == TN_OK);
  CHECK(tn_xla_execute(call) == TN_KERNEL_FAILED && failure_of(call).stage == TN_XLA_PREPARE);
  finish(call);
}

static int runs, fails_at;

static tn_xla_error_t *count_runs(tn_xla_call_frame_t *frame) {
  return ++runs == fails_at ? tn_xla_fail(frame, TN_XLA_ABORTED, "run %d", runs) : NULL;
}

TEST(xla_batch_stops_at_the_first_failure) {
  void *calls[3];
  tn_xla_batch_entry_t entries[3];
  for (int i = 0; i < 3; i++) {
    calls[i] = prepare_one((tn_xla_bundle_v1_t){NULL, NULL, NULL, count_runs});
    entries[i] = (tn_xla_batch_entry_t){calls[i], 1};
  }
  tn_xla_batch_t batch = {3, 99, entries};
  CHECK(tn_xla_execute_batch(&batch) == TN_OK && runs == 3 && batch.failed == 99);
  runs = 0;
  fails_at = 2;
  CHECK(tn_xla_execute_batch(&batch) == TN_KERNEL_FAILED && runs == 2 && batch.failed == 1);
  CHECK(failure_of(calls[1]).code == TN_XLA_ABORTED);
  CHECK(tn_xla_execute_batch(NULL) == TN_INVALID_ARGUMENT);
  batch.entries = NULL;
  CHECK(tn_xla_execute_batch(&batch) == TN_INVALID_ARGUMENT);
  for (int i = 0; i < 3; i++) finish(calls[i]);
}

static tn_xla_type_id_t own_type;
static void *data_seen;

static tn_xla_error_t *take_data(tn_xla_call_frame_t *frame) {
  tn_xla_context_get_args_t args = {sizeof args, NULL, frame->ctx, &own_type, NULL};
  tn_xla_error_t *error = frame->api->context_get(&args);
  if (error == NULL) data_seen = args.data;
  return error;
}

TEST(xla_data_is_lent_only_to_runs) {
  int object = 0;
  int32_t code = 0;
  int64_t id = 0;
  CHECK(tn_xla_type_register(3, "device_test", 11, &own_type, NULL, &id, &code) == TN_OK && id != 0 && own_type.type_id == id);
  CHECK(tn_xla_type_register(3, "device_test", 11, &own_type, NULL, &id, &code) == TN_OK);
  tn_xla_type_id_t other = {0};
  CHECK(tn_xla_type_register(3, "device_test", 11, &other, NULL, &id, &code) == TN_KERNEL_FAILED && code == TN_XLA_INTERNAL);
  void *call = prepare_one((tn_xla_bundle_v1_t){take_data, NULL, NULL, take_data});
  CHECK(tn_xla_lend(call, own_type.type_id, &object) == TN_OK);
  CHECK(tn_xla_lend(call, own_type.type_id, &object) == TN_INVALID_ARGUMENT);
  CHECK(tn_xla_instantiate(call) == TN_KERNEL_FAILED && failure_of(call).code == TN_XLA_NOT_FOUND);
  CHECK(tn_xla_execute(call) == TN_OK && data_seen == &object);
  finish(call);
}
