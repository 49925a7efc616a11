/* The three untyped conventions of XLA. */
#include <stdlib.h>
#include <string.h>

#include "kernel.h"
#include "tenon/xla_custom_call.h"
#include "tenon/xla_ffi.h"
#include "tenon_xla.h"

typedef struct {
  tn__kernel_t head;
  tn_xla_untyped_call_t call;
  void *out;   /* the pointer of a single result, or the address of the pointers of several */
  void *places[]; /* the pointers of the operands and of several results; the opaque string follows */
} untyped_kernel_t;

static int32_t answer_failure(tn__request_t *request, tn_xla_untyped_call_t *call, int32_t status) {
  char *text = (char *)request->reply;
  size_t length = 0;
  if (tn_xla_untyped_failure(call, text, TN_HOST_BODY_SIZE, &length) != TN_OK)
    return tn__refuse(request, status, "%s", tn_last_error());
  const int has_failed = status == TN_KERNEL_FAILED;
  request->slot->code = has_failed ? TN_XLA_INTERNAL : status == TN_OUT_OF_MEMORY ? TN_XLA_RESOURCE_EXHAUSTED : TN_XLA_UNKNOWN;
  request->slot->value = TN_XLA_EXECUTE;
  return tn__answer_error(request, has_failed ? TN_HOST_XLA_ERROR : TN_HOST_EXCEPTION, status, text, length);
}

static int32_t run(tn__kernel_t *head, tn__request_t *request) {
  untyped_kernel_t *kernel = (untyped_kernel_t *)(void *)head;
  const uint32_t count = head->operands + head->results;
  TN__CHECK(request, request->count == count, "the kernel must have %u operands and results, got %u", count,
            request->count);
  for (uint32_t i = head->operands; i < count; i++)
    TN__CHECK(request, (request->operands[i].flags & TN_HOST_READ_ONLY) == 0,
              "operand %u is a result, and must not be read-only", i);
  if (count > 0) memcpy(kernel->places, request->addresses, count * sizeof *kernel->places);
  if (head->results == 1) kernel->out = request->addresses[head->operands];
  const uint64_t start = tn_host_now();
  const int32_t status = tn_xla_execute_untyped(&kernel->call);
  tn__took(request, start);
  return status == TN_OK ? TN_OK : answer_failure(request, &kernel->call, status);
}

static void close_kernel(tn__kernel_t *head) {
  untyped_kernel_t *kernel = (untyped_kernel_t *)(void *)head;
  XlaCustomCallStatusSetSuccess(&kernel->call.status);
  free(kernel);
}

int32_t tn__untyped_kernel(tn__request_t *request, const tn__kernel_request_t *body, tn__kernel_t **out) {
  const tn_host_kernel_t *head = &body->head;
  TN__CHECK(request, head->convention == TN_HOST_UNIFIED || head->descriptor_length == 0,
            "only kernels of the unified convention have an opaque string, got %u bytes", head->descriptor_length);
  void *function = NULL;
  const int32_t status = tn__library_find(request, body->library, body->symbols[TN_XLA_EXECUTE],
                                          head->symbol_lengths[TN_XLA_EXECUTE], &function);
  if (status != TN_OK) return status;
  TN__CHECK(request, function != NULL, "an untyped kernel must have a symbol");
  /* One place more, so that there is an address without operands too. */
  const size_t places = ((size_t)head->operands + head->results + 1) * sizeof(void *);
  untyped_kernel_t *kernel = calloc(1, sizeof *kernel + places + head->descriptor_length + 1);
  if (kernel == NULL) return tn__refuse(request, TN_OUT_OF_MEMORY, "no memory for a kernel");
  char *opaque = (char *)kernel->places + places;
  if (head->descriptor_length > 0) memcpy(opaque, body->descriptor, head->descriptor_length);
  kernel->head = (tn__kernel_t){.run = run, .close = close_kernel};
  kernel->out = kernel->places + head->operands;
  kernel->call = (tn_xla_untyped_call_t){
      .api_version = (int32_t)(head->convention - TN_HOST_ORIGINAL) + TN_XLA_CALL_ORIGINAL,
      .buffers = kernel->places,
      .out = &kernel->out,
      .opaque = opaque,
      .opaque_length = head->descriptor_length,
  };
  memcpy(&kernel->call.function, &function, sizeof function);
  *out = &kernel->head;
  return TN_OK;
}
