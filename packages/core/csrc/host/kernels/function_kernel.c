/* Functions of C, whose registers and stack the client has planned. */
#include <stdlib.h>
#include <string.h>

#include "kept_values.h"
#include "kernel.h"
#include "tenon_call.h"

typedef struct {
  tn__kernel_t head;
  uint64_t address;
} function_kernel_t;

/* Where the client's part of a frame begins: the registers for arguments, which the stack follows. */
#define ARGUMENTS offsetof(tn_call_frame_t, integers)
#define REGISTERS (offsetof(tn_call_frame_t, stack) - ARGUMENTS)
#define COPIES (sizeof(tn_call_frame_t) - offsetof(tn_call_frame_t, copy_count))

/* One thread serves all requests. */
static tn_call_frame_t frame;

/* Checks the table of structs that are passed by reference. */
static int32_t check_copies(tn__request_t *request, uint32_t words) {
  const size_t table = (size_t)frame.copy_count * sizeof(tn_call_copy_t);
  TN__CHECK(request, frame.copy_count <= sizeof frame.copies / sizeof(tn_call_copy_t) &&
                         frame.copy_size <= sizeof frame.copies,
            "the structs of a call must fit into its frame, got %u of %u bytes", frame.copy_count, frame.copy_size);
  for (uint32_t i = 0; i < frame.copy_count; i++) {
    tn_call_copy_t copy;
    memcpy(&copy, frame.copies + i * sizeof copy, sizeof copy);
    TN__CHECK(request, copy.word >= ARGUMENTS / 4 && copy.word % 2 == 0 && copy.word <= words - 2 && copy.source >= table &&
                           copy.source <= sizeof frame.copies && copy.size <= sizeof frame.copies - copy.source &&
                           copy.place <= frame.copy_size && copy.size <= frame.copy_size - copy.place,
              "struct %u of a call must lie in its frame", i);
  }
  return TN_OK;
}

/* Fills the frame from a request, whose body the client may not change any more. */
static int32_t read_call(tn__request_t *request, const function_kernel_t *kernel, tn_host_call_t *call) {
  TN__CHECK(request, request->length >= sizeof *call, "a call must have at least %zu bytes, got %zu", sizeof *call,
            request->length);
  memcpy(call, request->body, sizeof *call);
  TN__CHECK(request, (call->flags & ~(TN_CALL_VECTORS | TN_CALL_ERRNO | TN_CALL_COPIES)) == 0,
            "the flags of a call must be known, got %x", call->flags);
  TN__CHECK(request, call->stack_size <= TN_CALL_STACK_SIZE && call->stack_size % 16 == 0 && call->copies_size <= COPIES &&
                         (call->flags & TN_CALL_COPIES ? call->copies_size >= 8 : call->copies_size == 0),
            "the arguments of a call must fit into a frame, got %u and %u bytes", call->stack_size, call->copies_size);
  TN__CHECK(request, call->pointers <= request->count && call->text_limit < UINT32_MAX,
            "each pointer of a call must be that of an operand, got %u of %u", call->pointers, request->count);
  const size_t pointers = call->pointers * sizeof(tn_host_pointer_t), arguments = REGISTERS + call->stack_size;
  TN__CHECK(request, request->length == sizeof *call + pointers + arguments + call->copies_size,
            "a call must have %zu bytes, got %zu", sizeof *call + pointers + arguments + call->copies_size, request->length);
  const uint8_t *bytes = request->body + sizeof *call + pointers;
  frame.target = kernel->address;
  frame.flags = call->flags;
  frame.stack_size = call->stack_size;
  frame.extra = call->extra;
  frame.error_number = 0;
  memset(frame.results, 0, sizeof frame.results);
  memset(frame.vector_results, 0, sizeof frame.vector_results);
  memcpy((uint8_t *)&frame + ARGUMENTS, bytes, arguments);
  if (call->copies_size > 0) memcpy(&frame.copy_count, bytes + arguments, call->copies_size);
  const uint32_t words = (uint32_t)((ARGUMENTS + arguments) / 4);
  for (uint32_t i = 0; i < call->pointers; i++) {
    tn_host_pointer_t pointer;
    memcpy(&pointer, request->body + sizeof *call + i * sizeof pointer, sizeof pointer);
    const uint32_t first = offsetof(tn_call_frame_t, extra) / 4;
    const bool is_argument = pointer.word >= ARGUMENTS / 4 && pointer.word % 2 == 0 && pointer.word <= words - 2;
    TN__CHECK(request, (is_argument || pointer.word == first) && pointer.operand < request->count,
              "pointer %u of a call must be an argument, got word %u and operand %u", i, pointer.word, pointer.operand);
    const uint64_t address = (uintptr_t)request->addresses[pointer.operand];
    memcpy((uint8_t *)&frame + 4 * (size_t)pointer.word, &address, sizeof address);
  }
  return call->flags & TN_CALL_COPIES ? check_copies(request, words) : TN_OK;
}

/* Answers with the results, and with the text that they point to. */
static int32_t answer(tn__request_t *request, const tn_host_call_t *call) {
  tn_host_returned_t returned = {.error_number = frame.error_number, .text_length = TN_HOST_NO_TEXT};
  memcpy(returned.results, frame.results, sizeof returned.results);
  memcpy(returned.vector_results, frame.vector_results, sizeof returned.vector_results);
  const char *text = call->text_limit > 0 ? (const char *)(uintptr_t)frame.results[0] : NULL;
  const char *end = text == NULL ? NULL : memchr(text, 0, (size_t)call->text_limit + 1);
  TN__CHECK(request, text == NULL || end != NULL, "a text that a function returns must have at most %u bytes", call->text_limit);
  const size_t length = text == NULL ? 0 : (size_t)(end - text);
  if (text != NULL) returned.text_length = (uint32_t)length;
  const size_t size = sizeof returned + length;
  uint8_t *bytes = size <= TN_HOST_BODY_SIZE ? request->reply : malloc(size);
  if (bytes == NULL) return tn__refuse(request, TN_OUT_OF_MEMORY, "no memory for a result");
  memcpy(bytes, &returned, sizeof returned);
  if (length > 0) memcpy(bytes + sizeof returned, text, length);
  if (bytes != request->reply) return tn__answer_long(request, &(tn__kept_t){NULL, 0, 0}, bytes, size);
  request->slot->length = (uint32_t)size;
  return TN_OK;
}

static int32_t run(tn__kernel_t *head, tn__request_t *request) {
  tn_host_call_t call;
  const int32_t status = read_call(request, (const function_kernel_t *)(const void *)head, &call);
  if (status != TN_OK) return status;
  const uint64_t start = tn_host_now();
  tn_call_perform(&frame);
  tn__took(request, start);
  if (frame.state == TN_CALL_RETURNED) return answer(request, &call);
  return tn__answer_error(request, TN_HOST_EXCEPTION, TN_EXCEPTION, tn_last_error(), strlen(tn_last_error()));
}

static void close_kernel(tn__kernel_t *head) { free(head); }

int32_t tn__function_kernel(tn__request_t *request, const tn__kernel_request_t *body, tn__kernel_t **out) {
  const tn_host_kernel_t *head = &body->head;
  TN__CHECK(request, head->operands == 0 && head->results == 0 && head->descriptor_length == 0,
            "a function of C has no operands, results and descriptor, got %u, %u and %u bytes", head->operands,
            head->results, head->descriptor_length);
  void *function = NULL;
  const int32_t status = tn__library_find(request, body->library, body->symbols[3], head->symbol_lengths[3], &function);
  if (status != TN_OK) return status;
  TN__CHECK(request, function != NULL, "a function of C must have a symbol");
  function_kernel_t *kernel = calloc(1, sizeof *kernel);
  if (kernel == NULL) return tn__refuse(request, TN_OUT_OF_MEMORY, "no memory for a kernel");
  kernel->head = (tn__kernel_t){.run = run, .close = close_kernel};
  kernel->address = (uintptr_t)function;
  *out = &kernel->head;
  return TN_OK;
}
