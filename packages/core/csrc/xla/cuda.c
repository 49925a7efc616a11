/* Calls on a stream of a CUDA driver, whose functions the caller supplies. */
#include "internal.h"

/* CU_STREAM_CAPTURE_MODE_THREAD_LOCAL: calls of other threads do not affect the capture. */
#define CAPTURE_MODE 1

static int32_t enter(void *data) {
  const tn_cuda_stream_t *stream = data;
  return stream->set_current(stream->context);
}

/* The stream orders allocations and frees, so memory may be freed while kernels that use it are still queued. */
static int32_t allocate(void *data, size_t size, size_t alignment, void **out) {
  const tn_cuda_stream_t *stream = data;
  uint64_t address = 0;
  (void)alignment; /* the driver aligns to 256 bytes */
  const int32_t result = stream->allocate(&address, size, stream->stream);
  if (result != 0)
    return tn__fail(TN_OUT_OF_MEMORY, "cuMemAllocAsync of %zu bytes gave CUDA result %d", size, (int)result);
  *out = (void *)(uintptr_t)address;
  return TN_OK;
}

static int32_t release(void *data, void *memory, size_t size) {
  const tn_cuda_stream_t *stream = data;
  (void)size;
  const int32_t result = stream->release((uint64_t)(uintptr_t)memory, stream->stream);
  return result == 0 ? TN_OK : tn__fail(TN_INVALID_ARGUMENT, "cuMemFreeAsync gave CUDA result %d", (int)result);
}

static _Thread_local tn_cuda_stream_t *streams;
static _Thread_local int has_hook;

static void end_thread(void *data) {
  (void)data;
  for (; streams != NULL; streams = streams->next)
    if (streams->set_current(streams->context) == 0) streams->synchronize(streams->stream);
}

int32_t tn_cuda_stream_open(tn_cuda_stream_t *stream) {
  TN_REQUIRE(stream != NULL && stream->context != NULL && stream->set_current != NULL && stream->allocate != NULL &&
             stream->release != NULL && stream->begin_capture != NULL && stream->end_capture != NULL &&
             stream->synchronize != NULL,
             "stream must have a context and all functions of the driver");
  stream->device = (tn_xla_device_t){sizeof stream->device, 1, stream->stream, enter, stream};
  stream->memory = (tn_xla_memory_t){sizeof stream->memory, allocate, release, stream};
  if (!has_hook) has_hook = tn_environment_on_end(end_thread, NULL) == TN_OK;
  stream->next = streams;
  streams = stream;
  return TN_OK;
}

void tn_cuda_stream_close(tn_cuda_stream_t *stream) {
  tn_cuda_stream_t **at = &streams;
  while (*at != NULL && *at != stream) at = &(*at)->next;
  if (*at != NULL) *at = stream->next;
}

typedef struct {
  tn_cuda_stream_t *stream;
  void *graph;
} capture_t;

static tn_xla_error_t *begin(void *data) {
  const tn_cuda_stream_t *stream = ((capture_t *)data)->stream;
  const int32_t result = stream->begin_capture(stream->stream, CAPTURE_MODE);
  return result == 0 ? NULL : tn__xla_error(TN_XLA_INTERNAL, "cuStreamBeginCapture gave CUDA result %d", (int)result);
}

static tn_xla_error_t *end(void *data) {
  capture_t *capture = data;
  const int32_t result = capture->stream->end_capture(capture->stream->stream, &capture->graph);
  return result == 0 ? NULL : tn__xla_error(TN_XLA_INTERNAL, "cuStreamEndCapture gave CUDA result %d", (int)result);
}

int32_t tn_cuda_capture(void *memory, tn_cuda_stream_t *stream, void **graph) {
  TN_REQUIRE(memory != NULL && stream != NULL && graph != NULL, "call, stream and graph must not be null");
  capture_t capture = {stream, NULL};
  const int32_t status = tn__xla_execute_between(memory, begin, end, &capture);
  *graph = capture.graph;
  return status;
}
