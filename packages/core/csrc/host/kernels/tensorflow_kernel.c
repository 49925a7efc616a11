/* Kernels of TensorFlow's C API, which their library registers when it is loaded. */
#include <stdlib.h>
#include <string.h>

#include "kept_values.h"
#include "kernel.h"
#include "tensorflow_runtime.h"
#include "tenon_call.h"

/* --- the list of registrations ---------------------------------------------------------------------------------------------------------- */

typedef struct {
  tn__kernel_t head;
  void *library;
} list_t;

/* Answers with what tn_tf_list() writes. */
static int32_t run_list(tn__kernel_t *head, tn__request_t *request) {
  const list_t *list = (list_t *)(void *)head;
  size_t length = 0;
  int32_t status = tn__tensorflow.list(list->library, (char *)request->reply, TN_HOST_BODY_SIZE, &length);
  if (status != TN_OK) return tn__refuse(request, status, "%s", tn_last_error());
  if (length <= TN_HOST_BODY_SIZE) {
    request->slot->length = (uint32_t)length;
    return TN_OK;
  }
  size_t again = 0;
  char *bytes = malloc(length);
  if (bytes == NULL) return tn__refuse(request, TN_OUT_OF_MEMORY, "no memory for %zu bytes of registrations", length);
  status = tn__tensorflow.list(list->library, bytes, length, &again);
  if (status == TN_OK && again == length) return tn__answer_long(request, &(tn__kept_t){NULL, 0, 0}, (uint8_t *)bytes, length);
  free(bytes);
  return tn__refuse(request, TN_UNSUPPORTED, "the registrations of the library change while they are read");
}

static void close_list(tn__kernel_t *head) { free(head); }

static int32_t make_list(tn__request_t *request, const tn__kernel_request_t *body, tn__kernel_t **out) {
  list_t *list = calloc(1, sizeof *list);
  if (list == NULL) return tn__refuse(request, TN_OUT_OF_MEMORY, "no memory for a kernel");
  *list = (list_t){{.run = run_list, .close = close_list}, body->library->handle};
  *out = &list->head;
  return TN_OK;
}

/* --- runs ------------------------------------------------------------------------------------------------------------------------------- */

typedef struct {
  tn__kernel_t head;
  tn_tf_instance_t *instance;
} tensorflow_kernel_t;

/* The block of one run. */
typedef struct {
  tn_tf_call_t *call;
  tn_tf_operand_t *operands;
  tn_tf_result_t *results;
  int32_t status;
} run_t;

static uint64_t address_of(const void *pointer) { return (uintptr_t)pointer; }

/* Reads the description of the next tensor. Null if the body ends before. */
static const tn_host_tensor_t *next_tensor(tn__request_t *request, size_t *used) {
  const tn_host_tensor_t *tensor = (const tn_host_tensor_t *)(const void *)(request->body + *used);
  if (request->length - *used < sizeof *tensor || tensor->rank < 0 || tensor->rank > TN_TF_MOST_AXES) return NULL;
  const size_t size = sizeof *tensor + (size_t)tensor->rank * sizeof(int64_t);
  if (request->length - *used < size) return NULL;
  *used += size;
  return tensor;
}

static int32_t fill(tn__kernel_t *head, tn__request_t *request, run_t *run) {
  size_t used = 0;
  for (uint32_t i = 0; i < request->count; i++) {
    const tn_host_tensor_t *tensor = next_tensor(request, &used);
    const tn_host_operand_t *range = &request->operands[i];
    TN__CHECK(request, tensor != NULL && tensor->byte_size <= range->length, "operand %u must be described by the body", i);
    const uint64_t data = address_of(request->addresses[i]), dims = address_of(tensor + 1);
    if (i < head->operands) {
      run->operands[i] = (tn_tf_operand_t){.data = data, .byte_size = tensor->byte_size, .extent = range->length, .dims = dims,
                                           .rank = tensor->rank, .type = tensor->type};
      continue;
    }
    const bool is_given = (range->flags & TN_HOST_NULL) == 0;
    TN__CHECK(request, !is_given || (range->flags & TN_HOST_READ_ONLY) == 0, "operand %u is a result, and must not be read-only", i);
    run->results[i - head->operands] = (tn_tf_result_t){.data = data, .byte_size = tensor->byte_size, .dims = dims, .rank = tensor->rank,
                                                        .type = tensor->type, .flags = is_given ? TN_TF_IS_EXACT : 0};
  }
  TN__CHECK(request, used == request->length, "the tensors must fill the body of %zu bytes", request->length);
  return TN_OK;
}

static void enter(void *context) {
  run_t *run = context;
  tn_call_frame_t frame = {.integers = {address_of(run->call)}};
  run->status = tn__tensorflow.run(&frame);
}

static int32_t answer_failure(tn__request_t *request, uint64_t failure) {
  size_t length = 0;
  (void)tn__tensorflow.failure(failure, NULL, 0, &length);
  char *bytes = malloc(length + 1);
  if (bytes == NULL) return tn__refuse(request, TN_OUT_OF_MEMORY, "no memory for the message of a kernel");
  (void)tn__tensorflow.failure(failure, bytes, length, &length);
  const int32_t status = tn__answer_error(request, TN_HOST_TENSORFLOW_ERROR, TN_KERNEL_FAILED, bytes, length);
  free(bytes);
  return status;
}

/* Keeps a copy of a result for the client. Returns its number, or 0 without memory. Results without bytes have a part, too. */
static uint32_t keep(tn__kept_t *kept, const run_t *run, tn_tf_result_t *result) {
  uint8_t *bytes = malloc((size_t)result->needed + 1);
  if (bytes == NULL) return 0;
  if (result->state == TN_TF_OWNED) result->data = address_of(bytes);
  else memcpy(bytes, (const void *)(uintptr_t)run->operands[result->operand].data, (size_t)result->needed);
  return tn__kept_add(kept, (tn__part_t){bytes, (size_t)result->needed, bytes, NULL});
}

/* Describes the results that are not in memory of the client, and keeps them. Returns the end of the answer, or null without memory. */
static uint8_t *describe(uint32_t count, const run_t *run, tn__kept_t *kept, uint8_t *at) {
  for (uint32_t i = 0; i < count; i++) {
    tn_tf_result_t *result = &run->results[i];
    tn_host_result_t head = {.part = 0};
    if (result->state != TN_TF_IN_PLACE) {
      head.rank = tn__tensorflow.shape(run->call, i, (int64_t *)(void *)(at + sizeof head));
      head.byte_size = result->needed;
      head.part = keep(kept, run, result);
      if (head.part == 0) return NULL;
    }
    memcpy(at, &head, sizeof head);
    at += sizeof head + (size_t)head.rank * sizeof(int64_t);
  }
  return at;
}

/* Refuses a call after which the kernel refers to an operand, whose memory ends with the call here. */
static int32_t refuse_kept(const tn__kernel_t *head, tn__request_t *request, const run_t *run) {
  for (uint32_t i = 0; i < head->operands; i++)
    if (run->operands[i].memory != 0) return tn__refuse(request, TN_UNSUPPORTED, "the kernel keeps operand %u after its call", i);
  return TN_OK;
}

static int32_t answer_results(tn__kernel_t *head, tn__request_t *request, run_t *run) {
  tn__kept_t kept = {NULL, 0, 0};
  uint8_t *answer = malloc(head->results * (sizeof(tn_host_result_t) + TN_TF_MOST_AXES * sizeof(int64_t)) + 1);
  const uint8_t *end = answer == NULL ? NULL : describe(head->results, run, &kept, answer);
  const int32_t taken = tn__tensorflow.take(run->call);
  const int32_t status = end == NULL    ? tn__refuse(request, TN_OUT_OF_MEMORY, "no memory for the results")
                         : taken != TN_OK ? tn__refuse(request, taken, "%s", tn_last_error())
                                          : refuse_kept(head, request, run);
  if (status != TN_OK) {
    free(answer);
    tn__kept_clear(&kept);
    return status;
  }
  const size_t size = (size_t)(end - answer);
  if (size > TN_HOST_BODY_SIZE) return tn__answer_long(request, &kept, answer, size);
  memcpy(request->reply, answer, size);
  free(answer);
  request->slot->length = (uint32_t)size;
  if (kept.count == 0) return TN_OK;
  request->slot->value = tn__keep(&kept);
  tn__kept_clear(&kept);
  return request->slot->value != 0 ? TN_OK : tn__refuse(request, TN_OUT_OF_MEMORY, "no memory for the results");
}

static int32_t run_filled(tn__kernel_t *head, tn__request_t *request, run_t *run) {
  const uint64_t start = tn_host_now();
  const int32_t left = tn_guard_call(enter, run);
  if (left != TN_OK) run->status = tn__tensorflow.end_exception(run->call, left);
  tn__took(request, start);
  if (run->status != TN_OK) return answer_failure(request, run->call->failure);
  return answer_results(head, request, run);
}

static int32_t run(tn__kernel_t *head, tn__request_t *request) {
  const size_t count = (size_t)head->operands + head->results;
  TN__CHECK(request, request->count == count, "the kernel must have %zu operands and results, got %u", count, request->count);
  tn_tf_call_t *call = calloc(1, sizeof *call + head->operands * sizeof(tn_tf_operand_t) + head->results * sizeof(tn_tf_result_t));
  if (call == NULL) return tn__refuse(request, TN_OUT_OF_MEMORY, "no memory for a call");
  call->instance = address_of(((tensorflow_kernel_t *)(void *)head)->instance);
  call->operands = head->operands;
  call->results = head->results;
  run_t block = {.call = call, .operands = (tn_tf_operand_t *)(void *)(call + 1)};
  block.results = (tn_tf_result_t *)(void *)(block.operands + head->operands);
  int32_t status = fill(head, request, &block);
  if (status == TN_OK) status = run_filled(head, request, &block);
  /* A kernel that keeps an operand or a result refers to parts of the call, which then stay with it. */
  if (call->left == 0) free(call);
  return status;
}

static void close_kernel(tn__kernel_t *head) {
  (void)tn__tensorflow.delete(((tensorflow_kernel_t *)(void *)head)->instance);
  free(head);
}

int32_t tn__tensorflow_kernel(tn__request_t *request, const tn__kernel_request_t *body, tn__kernel_t **out) {
  if (tn__tensorflow.list == NULL)
    return tn__refuse(request, TN_NOT_FOUND, "%s does not use TensorFlow's C API", body->library->path);
  if (body->head.descriptor_length == 0) return make_list(request, body, out);
  tensorflow_kernel_t *kernel = calloc(1, sizeof *kernel);
  if (kernel == NULL) return tn__refuse(request, TN_OUT_OF_MEMORY, "no memory for a kernel");
  kernel->head = (tn__kernel_t){.run = run, .close = close_kernel};
  uint64_t failure = 0;
  const int32_t status = tn__tensorflow.create(body->descriptor, &kernel->instance, &failure);
  if (status == TN_OK) {
    *out = &kernel->head;
    return TN_OK;
  }
  free(kernel);
  return status == TN_KERNEL_FAILED ? answer_failure(request, failure) : tn__refuse(request, status, "%s", tn_last_error());
}
