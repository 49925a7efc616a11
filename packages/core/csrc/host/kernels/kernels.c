#include "kernels.h"

#include <stdlib.h>
#include <string.h>

#include "base/floating_point.h"
#include "id_table.h"
#include "kernel.h"
#include "client_memories.h"
#include "string_results.h"

/* The operands and results of a kernel. */
#define MOST_BUFFERS 65536u

static tn__id_table_t kernels;

/* Takes the next `size` bytes of a body. Null if it ends before. */
static uint8_t *take(tn__request_t *request, size_t *used, size_t size) {
  if (size > request->length - *used) return NULL;
  uint8_t *found = request->body + *used;
  *used += size;
  return found;
}

static int32_t read_body(tn__request_t *request, tn__kernel_request_t *out) {
  size_t used = 0;
  const uint8_t *head = take(request, &used, sizeof out->head);
  TN__CHECK(request, head != NULL, "a kernel must be described by at least %zu bytes, got %zu", sizeof out->head,
            request->length);
  memcpy(&out->head, head, sizeof out->head);
  bool is_complete = take(request, &used, out->head.name_length) != NULL;
  for (int i = 0; i < 4; i++) {
    out->symbols[i] = is_complete ? (const char *)take(request, &used, out->head.symbol_lengths[i]) : NULL;
    is_complete = is_complete && out->symbols[i] != NULL;
  }
  const size_t padding = (8 - used % 8) % 8;
  is_complete = is_complete && (out->head.descriptor_length == 0 || take(request, &used, padding) != NULL);
  out->descriptor = is_complete ? take(request, &used, out->head.descriptor_length) : NULL;
  TN__CHECK(request, out->descriptor != NULL && used == request->length,
            "the names and the descriptor of a kernel must fill its body of %zu bytes", request->length);
  TN__CHECK(request, out->head.operands <= MOST_BUFFERS && out->head.results <= MOST_BUFFERS,
            "a kernel must have at most %u operands and %u results, got %u and %u", MOST_BUFFERS, MOST_BUFFERS,
            out->head.operands, out->head.results);
  out->library = tn__library_of(out->head.library);
  return out->library != NULL ? TN_OK
                              : tn__refuse(request, TN_NOT_FOUND, "there is no library %u", out->head.library);
}

static int32_t make(tn__request_t *request, const tn__kernel_request_t *body, tn__kernel_t **out) {
  switch (body->head.convention) {
    case TN_HOST_XLA: case TN_HOST_REGISTERED: return tn__typed_kernel(request, body, out);
    case TN_HOST_ORIGINAL: case TN_HOST_STATUS: case TN_HOST_UNIFIED: return tn__untyped_kernel(request, body, out);
    case TN_HOST_PACKED: case TN_HOST_LEGACY: return tn__packed_kernel(request, body, out);
    case TN_HOST_FUNCTION: return tn__function_kernel(request, body, out);
    case TN_HOST_TENSORFLOW: return tn__tensorflow_kernel(request, body, out);
    default: return tn__refuse(request, TN_INVALID_ARGUMENT, "the convention of a kernel must be known here, got %u",
                               body->head.convention);
  }
}

int32_t tn__serve_kernel(tn__request_t *request) {
  tn__kernel_request_t body;
  TN__CHECK(request, request->target != UINT32_MAX && tn__id_find(&kernels, request->target) == NULL,
            "the id of a new kernel must be new, got %u", request->target);
  tn__kernel_t *kernel = NULL;
  int32_t status = read_body(request, &body);
  if (status == TN_OK) status = make(request, &body, &kernel);
  if (status != TN_OK) return status;
  kernel->operands = body.head.operands;
  kernel->results = body.head.results;
  if (tn__id_add(&kernels, request->target, kernel)) return TN_OK;
  kernel->close(kernel);
  return tn__refuse(request, TN_OUT_OF_MEMORY, "no memory for kernel %u", request->target);
}

int32_t tn__serve_release_kernel(tn__request_t *request) {
  tn__kernel_t *kernel = tn__id_remove(&kernels, request->target);
  if (kernel == NULL) return tn__refuse(request, TN_NOT_FOUND, "there is no kernel %u", request->target);
  kernel->close(kernel);
  return TN_OK;
}

int32_t tn__serve_run(tn__request_t *request) {
  tn__kernel_t *kernel = tn__id_find(&kernels, request->target);
  if (kernel == NULL) return tn__refuse(request, TN_NOT_FOUND, "there is no kernel %u", request->target);
  int32_t status = tn__reach_operands(request);
  if (status != TN_OK) return status;
  /* The next kernel must not find what this one changes. */
  const tn__floating_point_t control = tn__floating_point_save();
  const int has_strings = tn__has_string_results(request);
  if (has_strings) tn__clear_string_results(request);
  status = kernel->run(kernel, request);
  tn__floating_point_restore(control);
  if (!has_strings) return status;
  if (status == TN_OK) return tn__answer_strings(request);
  tn__free_string_results(request);
  return status;
}
