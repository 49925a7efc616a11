/* cuda.c, and expected events. The driver is simulated by functions that record their calls. */
#include "environment.h"

#include "check.h"
#include "support.h"

static char calls[256];
static int32_t next_result;

static int32_t note(const char *name) {
  strcat(calls, name);
  const int32_t result = next_result;
  next_result = 0;
  return result;
}

static int32_t set_current(void *context) { return note(context == &calls ? "current " : "wrong "); }

static int32_t driver_allocate(uint64_t *out, size_t size, void *stream) {
  *out = (uint64_t)(uintptr_t)malloc(size);
  (void)stream;
  return note("allocate ");
}

static int32_t driver_release(uint64_t memory, void *stream) {
  free((void *)(uintptr_t)memory);
  (void)stream;
  return note("release ");
}

static int32_t begin_capture(void *stream, int32_t mode) {
  (void)stream;
  return note(mode == 1 ? "begin " : "wrong ");
}

static int32_t end_capture(void *stream, void **graph) {
  *graph = stream;
  return note("end ");
}

static int32_t synchronize(void *stream) {
  (void)stream;
  return note("synchronize ");
}

static tn_cuda_stream_t open_stream(void) {
  tn_cuda_stream_t stream = {.stream = &next_result,
                             .context = &calls,
                             .set_current = set_current,
                             .allocate = driver_allocate,
                             .release = driver_release,
                             .begin_capture = begin_capture,
                             .end_capture = end_capture,
                             .synchronize = synchronize};
  return stream;
}

static int wants_memory, throws;

static tn_xla_error_t *execute(tn_xla_call_frame_t *frame) {
  note("execute ");
  if (throws) return tn_xla_fail(frame, TN_XLA_ABORTED, "no");
  if (!wants_memory) return NULL;
  tn_xla_memory_allocate_args_t args = {sizeof args, NULL, frame->ctx, 32, 16, NULL};
  return frame->api->memory_allocate(&args);
}

static tn_xla_error_t *initialize(tn_xla_call_frame_t *frame) {
  (void)frame;
  note("initialize ");
  return NULL;
}

static void *prepare_for(tn_cuda_stream_t *stream) {
  descriptor_t d;
  put_header(&d, 3, 0, 0, 0, (tn_xla_bundle_v1_t){NULL, NULL, initialize, execute});
  void *call = prepare(&d);
  tn_xla_on_device(call, &stream->device);
  tn_xla_give_memory(call, &stream->memory);
  calls[0] = '\0';
  return call;
}

TEST(xla_cuda_enters_the_context_and_frees_memory) {
  tn_cuda_stream_t stream = open_stream();
  CHECK(tn_cuda_stream_open(&stream) == TN_OK);
  void *call = prepare_for(&stream);
  wants_memory = 1;
  CHECK(tn_xla_execute(call) == TN_OK);
  CHECK(strcmp(calls, "current initialize execute allocate release ") == 0);
  wants_memory = 0;
  next_result = 201;
  calls[0] = '\0';
  CHECK(tn_xla_execute(call) == TN_KERNEL_FAILED && strcmp(calls, "current ") == 0);
  CHECK(failure_of(call).code == TN_XLA_UNAVAILABLE);
  finish(call);
  tn_cuda_stream_close(&stream);
  stream.release = NULL;
  CHECK(tn_cuda_stream_open(&stream) == TN_INVALID_ARGUMENT);
}

TEST(xla_cuda_closes_streams_in_any_order_and_once) {
  tn_cuda_stream_t streams[3] = {open_stream(), open_stream(), open_stream()};
  for (int i = 0; i < 3; i++) CHECK(tn_cuda_stream_open(&streams[i]) == TN_OK);
  CHECK(streams[2].next == &streams[1] && streams[1].next == &streams[0] && streams[0].next == NULL);
  tn_cuda_stream_close(&streams[1]);
  CHECK(streams[2].next == &streams[0]);
  tn_cuda_stream_close(&streams[1]);
  tn_cuda_stream_close(&streams[2]);
  tn_cuda_stream_close(&streams[0]);
  CHECK(tn_cuda_stream_open(&streams[1]) == TN_OK && streams[1].next == NULL);
  tn_cuda_stream_close(&streams[1]);
}

TEST(xla_cuda_captures_only_the_execute_stage) {
  tn_cuda_stream_t stream = open_stream();
  CHECK(tn_cuda_stream_open(&stream) == TN_OK);
  void *call = prepare_for(&stream), *graph = NULL;
  CHECK(tn_cuda_capture(call, &stream, &graph) == TN_OK && graph == &next_result);
  CHECK(strcmp(calls, "current initialize begin execute end ") == 0);
  wants_memory = 1;
  CHECK(tn_cuda_capture(call, &stream, &graph) == TN_KERNEL_FAILED && graph == &next_result);
  CHECK(failure_of(call).code == TN_XLA_FAILED_PRECONDITION);
  wants_memory = 0;
  throws = 1;
  calls[0] = '\0';
  CHECK(tn_cuda_capture(call, &stream, &graph) == TN_KERNEL_FAILED);
  CHECK(strcmp(calls, "current initialize begin execute end ") == 0 && failure_of(call).code == TN_XLA_ABORTED);
  throws = 0;
  CHECK(tn_cuda_capture(NULL, &stream, &graph) == TN_INVALID_ARGUMENT);
  finish(call);
  tn_cuda_stream_close(&stream);
}

TEST(xla_async_expects_events) {
  environment_t *environment = environment_open();
  tn_xla_job_t *jobs[4];
  for (int i = 0; i < 4; i++) CHECK(tn_xla_async_expect(i + 1, &jobs[i]) == TN_OK);
  tn_xla_async_arrive(jobs[1]);
  CHECK(environment_await(environment, 1) && environment->ids[0] == 2 && environment->statuses[0] == TN_OK);
  tn_xla_async_forget(jobs[0]);
  environment_close(environment); /* does not wait for events */
  tn_xla_async_arrive(jobs[2]);
  tn_xla_async_forget(jobs[3]);
  tn_xla_async_arrive(NULL);
  CHECK(tn_xla_async_expect(1, NULL) == TN_INVALID_ARGUMENT);
}

TEST(xla_cuda_the_end_of_a_thread_waits_for_its_streams) {
  environment_t *environment = environment_open();
  tn_cuda_stream_t open = open_stream(), closed = open_stream();
  CHECK(tn_cuda_stream_open(&open) == TN_OK && tn_cuda_stream_open(&closed) == TN_OK);
  tn_cuda_stream_close(&closed);
  calls[0] = '\0';
  environment_close(environment);
  CHECK(strcmp(calls, "current synchronize ") == 0);
}
