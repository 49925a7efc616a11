/* Typed XLA handlers. The frame is laid out, and the instantiate stage runs, when the kernel is made. */
#include <stdlib.h>
#include <string.h>

#include "kernel.h"
#include "tenon/xla_handler.h"
#include "tenon_xla.h"

typedef struct {
  tn__kernel_t head;
  tn_xla_buffer_t *buffers; /* operands before results */
  int64_t *dims;            /* of the next run: see tn_xla_call_head_t */
  size_t dims_size;         /* in bytes */
  size_t *sizes;            /* of the buffers */
  void *frame;
} typed_kernel_t;

/* Answers with the failure of the last run of a frame. */
static int32_t answer_failure(tn__request_t *request, void *frame, int32_t status) {
  int32_t code = TN_XLA_UNKNOWN, stage = TN_XLA_EXECUTE;
  size_t length = 0;
  char *text = (char *)request->reply;
  if (tn_xla_failure(frame, &code, &stage, text, TN_HOST_BODY_SIZE, &length) != TN_OK)
    return tn__refuse(request, status, "%s", tn_last_error());
  request->slot->code = code;
  request->slot->value = (uint32_t)stage;
  return tn__answer_error(request, status == TN_KERNEL_FAILED ? TN_HOST_XLA_ERROR : TN_HOST_EXCEPTION, status, text, length);
}

/* The size of a buffer, which is SIZE_MAX if no buffer has so many bytes. */
static size_t size_of(const tn_xla_buffer_t *buffer, const int64_t *dims) {
  size_t size = tn_xla_dtype_size(buffer->dtype);
  for (int64_t i = 0; i < buffer->rank; i++)
    if (dims[i] == 0) return 0;
  for (int64_t i = 0; i < buffer->rank; i++)
    if (__builtin_mul_overflow(size, (size_t)dims[i], &size)) return SIZE_MAX;
  return size;
}

/* Finds the sizes of the buffers and of their dimensions. */
static void measure(typed_kernel_t *kernel, uint32_t count) {
  const int64_t *dims = kernel->dims;
  for (uint32_t i = 0; i < count; i++) {
    const tn_xla_buffer_t *buffer = &kernel->buffers[i];
    kernel->sizes[i] = size_of(buffer, dims);
    dims += buffer->rank == 0 ? 1 : buffer->rank;
  }
  kernel->dims_size = (size_t)(dims - kernel->dims) * sizeof *dims;
}

/* Takes the dimensions of a run, and of those that follow without dimensions. */
static int32_t resize(tn__request_t *request, typed_kernel_t *kernel) {
  TN__CHECK(request, request->length == kernel->dims_size,
            "the body of a run must have %zu bytes, the dimensions of all buffers, got %zu", kernel->dims_size,
            request->length);
  if (memcmp(kernel->dims, request->body, kernel->dims_size) == 0) return TN_OK;
  for (size_t at = 0; at < kernel->dims_size; at += sizeof(int64_t)) {
    int64_t size;
    memcpy(&size, request->body + at, sizeof size);
    TN__CHECK(request, size >= 0, "a dimension must not be negative, got %lld", (long long)size);
  }
  memcpy(kernel->dims, request->body, kernel->dims_size);
  measure(kernel, kernel->head.operands + kernel->head.results);
  return TN_OK;
}

static int32_t point(tn__request_t *request, const typed_kernel_t *kernel) {
  const uint32_t count = kernel->head.operands + kernel->head.results;
  TN__CHECK(request, request->count == count, "the kernel must have %u operands and results, got %u", count,
            request->count);
  for (uint32_t i = 0; i < count; i++) {
    tn_xla_buffer_t *buffer = &kernel->buffers[i];
    const tn_host_operand_t *operand = &request->operands[i];
    const size_t size = kernel->sizes[i];
    TN__CHECK(request, operand->length >= size, "operand %u must have %zu bytes, got %llu", i, size,
              (unsigned long long)operand->length);
    TN__CHECK(request, i < kernel->head.operands || size == 0 || (operand->flags & TN_HOST_READ_ONLY) == 0,
              "operand %u is a result, and must not be read-only", i);
    buffer->data = request->addresses[i];
  }
  return TN_OK;
}

static int32_t run(tn__kernel_t *head, tn__request_t *request) {
  typed_kernel_t *kernel = (typed_kernel_t *)(void *)head;
  int32_t status = request->length == 0 ? TN_OK : resize(request, kernel);
  if (status == TN_OK) status = point(request, kernel);
  if (status != TN_OK) return status;
  const uint64_t start = tn_host_now();
  status = tn_xla_execute(kernel->frame);
  tn__took(request, start);
  return status == TN_OK ? TN_OK : answer_failure(request, kernel->frame, status);
}

static void close_kernel(tn__kernel_t *head) {
  typed_kernel_t *kernel = (typed_kernel_t *)(void *)head;
  tn_xla_close(kernel->frame);
  free(kernel->frame);
  free(kernel->sizes);
  free(kernel);
}

/* Refuses a handler: `version` is major << 16 | minor, or -1 without an answer. */
static int32_t refuse_version(tn__request_t *request, int32_t version) {
  request->slot->code = version;
  return tn__refuse(request, TN_VERSION_MISMATCH, "the handler must have the version 0.1 to 0.%d of XLA FFI, got %d.%d",
                    TN_XLA_NEWEST_MINOR, version >> 16, version & 0xffff);
}

/* Answers with the error that a handler has returned, or thrown, when it was asked for its version. */
static int32_t answer_asked(tn__request_t *request, int32_t status, int32_t code, bool has_answered) {
  const uint32_t error = status == TN_KERNEL_FAILED ? TN_HOST_XLA_ERROR : TN_HOST_EXCEPTION;
  const char *text = status == TN_OK ? "the handler does not answer the question for its version" : tn_last_error();
  request->slot->code = has_answered ? code : -1;
  request->slot->value = has_answered ? TN_XLA_EXECUTE : (uint32_t)(status == TN_OK ? TN_XLA_OK : code);
  return tn__answer_error(request, has_answered ? error : TN_HOST_REQUEST_ERROR, has_answered ? status : TN_VERSION_MISMATCH,
                          text, strlen(text));
}

/* Asks a handler for its version. */
static int32_t ask_version(tn__request_t *request, void *handler, uint32_t *minor) {
  tn_xla_metadata_t metadata = {0};
  int32_t code = TN_XLA_UNKNOWN;
  const int32_t status = tn_xla_metadata(handler, &metadata, &code);
  const tn_xla_api_version_t *answer = &metadata.api_version;
  if (status != TN_OK || answer->struct_size == 0) return answer_asked(request, status, code, answer->struct_size != 0);
  if (answer->major_version != 0 || answer->minor_version < 1 || answer->minor_version > TN_XLA_NEWEST_MINOR)
    return refuse_version(request, (int32_t)((uint32_t)answer->major_version << 16 | ((uint32_t)answer->minor_version & 0xffff)));
  *minor = (uint32_t)answer->minor_version;
  return TN_OK;
}

static int32_t find_registered(tn__request_t *request, const tn__kernel_request_t *body, tn_xla_descriptor_t *descriptor) {
  tn_xla_registered_t registered = {.struct_size = sizeof registered};
  const char *name = body->symbols[TN_XLA_EXECUTE];
  const uint32_t length = body->head.symbol_lengths[TN_XLA_EXECUTE];
  const int32_t status = tn_xla_find_handler(name, length, "Host", 4, &registered);
  if (status == TN_VERSION_MISMATCH) request->slot->code = registered.minor;
  if (status != TN_OK) return tn__refuse(request, status, "%s", tn_last_error());
  memcpy(descriptor->handlers, registered.handlers, sizeof descriptor->handlers);
  if (descriptor->minor == 0) descriptor->minor = (uint32_t)registered.minor;
  return TN_OK;
}

static int32_t find_handlers(tn__request_t *request, const tn__kernel_request_t *body, tn_xla_descriptor_t *descriptor) {
  if (body->head.convention == TN_HOST_REGISTERED) return find_registered(request, body, descriptor);
  void *handler = NULL;
  for (int stage = TN_XLA_INSTANTIATE; stage <= TN_XLA_EXECUTE; stage++) {
    const int32_t status = tn__library_find(request, body->library, body->symbols[stage],
                                            body->head.symbol_lengths[stage], &handler);
    if (status != TN_OK) return status;
    descriptor->handlers[stage] = (uintptr_t)handler;
  }
  TN__CHECK(request, handler != NULL, "a typed kernel must have a handler for the execute stage");
  return descriptor->minor == 0 ? ask_version(request, handler, &descriptor->minor) : TN_OK;
}

static int32_t build(tn__request_t *request, const tn__kernel_request_t *body, typed_kernel_t *kernel) {
  const size_t length = body->head.descriptor_length;
  size_t size = 0;
  int32_t status = tn_xla_frame_size(body->descriptor, length, &size);
  if (status != TN_OK) return tn__refuse(request, status, "%s", tn_last_error());
  kernel->frame = aligned_alloc(64, size);
  const uint32_t count = body->head.operands + body->head.results;
  kernel->sizes = calloc(count == 0 ? 1 : count, sizeof *kernel->sizes);
  if (kernel->frame == NULL || kernel->sizes == NULL)
    return tn__refuse(request, TN_OUT_OF_MEMORY, "no memory for a frame of %zu bytes", size);
  status = tn_xla_frame_build(body->descriptor, length, kernel->frame, size);
  if (status != TN_OK) return tn__refuse(request, status, "%s", tn_last_error());
  const tn_xla_call_head_t *head = kernel->frame;
  kernel->buffers = (tn_xla_buffer_t *)(void *)((uint8_t *)kernel->frame + head->buffers_offset);
  kernel->dims = (int64_t *)(void *)((uint8_t *)kernel->frame + head->dims_offset);
  measure(kernel, count);
  const uint64_t start = tn_host_now();
  status = tn_xla_instantiate(kernel->frame);
  tn__took(request, start);
  if (status == TN_OK) return TN_OK;
  answer_failure(request, kernel->frame, status);
  tn_xla_close(kernel->frame);
  return status;
}

int32_t tn__typed_kernel(tn__request_t *request, const tn__kernel_request_t *body, tn__kernel_t **out) {
  tn_xla_descriptor_t *descriptor = (tn_xla_descriptor_t *)(void *)body->descriptor;
  TN__CHECK(request, body->head.descriptor_length >= sizeof *descriptor && descriptor->magic == TN_XLA_DESCRIPTOR_MAGIC &&
                         descriptor->operands == body->head.operands && descriptor->results == body->head.results,
            "a typed kernel must have a descriptor with its %u operands and %u results", body->head.operands,
            body->head.results);
  int32_t status = find_handlers(request, body, descriptor);
  if (status != TN_OK) return status;
  typed_kernel_t *kernel = calloc(1, sizeof *kernel);
  if (kernel == NULL) return tn__refuse(request, TN_OUT_OF_MEMORY, "no memory for a kernel");
  kernel->head = (tn__kernel_t){.run = run, .close = close_kernel};
  status = build(request, body, kernel);
  if (status != TN_OK) {
    free(kernel->frame);
    free(kernel->sizes);
    free(kernel);
    return status;
  }
  *out = &kernel->head;
  return TN_OK;
}
