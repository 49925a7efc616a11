#include "serve.h"

#include <stdlib.h>
#include <string.h>

#include "kept_values.h"
#include "kernels.h"
#include "libraries.h"
#include "client_memories.h"

/* The operands that a slot has room for. */
_Static_assert(sizeof(tn_host_slot_t) + TN_HOST_OPERANDS * sizeof(tn_host_operand_t) <= TN_HOST_SLOT_SIZE,
               "the operands must fit into a slot");

/* The operands of a request outside its slot. */
#define MOST_OPERANDS 65536u
/* The size of a body outside its slot. */
#define LARGEST_BODY ((uint64_t)1 << 30)

static tn_host_operand_t slot_operands[TN_HOST_OPERANDS];
static void *slot_addresses[TN_HOST_OPERANDS];
static _Alignas(8) uint8_t slot_body[TN_HOST_BODY_SIZE];

/* Copies a range of memory that a request names. The caller frees it. */
static int32_t copy_range(tn__request_t *request, const tn_host_operand_t *range, size_t size, void **out) {
  uint8_t *from = NULL;
  TN__CHECK(request, range->length >= size, "a part of the request must have %zu bytes, got %llu", size,
            (unsigned long long)range->length);
  const int32_t status = tn__reach(request, range, TN__REACH_READ, &from);
  if (status != TN_OK) return status;
  /* One byte more, because a block without bytes may be null. */
  void *copy = malloc(size + 1);
  if (copy == NULL) return tn__refuse(request, TN_OUT_OF_MEMORY, "no memory for a request of %zu bytes", size);
  if (size > 0) memcpy(copy, from, size);
  *out = copy;
  return TN_OK;
}

/* What a request has outside its slot: null if it has not. */
typedef struct {
  void *operands, *body;
} outside_t;

static int32_t read_outside(tn__request_t *request, const tn_host_slot_t *head, outside_t *outside) {
  const bool has_many = (head->flags & TN_HOST_MANY) != 0, has_long_body = (head->flags & TN_HOST_LONG_BODY) != 0;
  const uint32_t here = (has_many ? 1 : head->operands) + has_long_body;
  TN__CHECK(request, (head->flags & ~(TN_HOST_MANY | TN_HOST_LONG_BODY)) == 0, "the flags of a request must be known, got %x",
            head->flags);
  TN__CHECK(request, head->operands <= (has_many ? MOST_OPERANDS : TN_HOST_OPERANDS) && here <= TN_HOST_OPERANDS,
            "a request must have at most %u operands, got %u", has_many ? MOST_OPERANDS : TN_HOST_OPERANDS, head->operands);
  memcpy(slot_operands, request->slot + 1, here * sizeof *slot_operands);
  request->count = head->operands;
  request->operands = slot_operands;
  if (has_long_body) {
    TN__CHECK(request, head->length <= LARGEST_BODY, "a body must have at most 1 GiB, got %u bytes", head->length);
    const int32_t status = copy_range(request, &slot_operands[here - 1], head->length, &outside->body);
    if (status != TN_OK) return status;
    request->body = outside->body;
  }
  if (!has_many) return TN_OK;
  /* The addresses follow the operands in the same block. */
  const size_t size = request->count * sizeof(tn_host_operand_t);
  const int32_t status = copy_range(request, &slot_operands[0], size, &outside->operands);
  if (status != TN_OK) return status;
  void *block = realloc(outside->operands, size + request->count * sizeof(void *) + 1);
  if (block == NULL) return tn__refuse(request, TN_OUT_OF_MEMORY, "no memory for %u operands", request->count);
  outside->operands = block;
  request->operands = block;
  return TN_OK;
}

/* Copies a request out of command memory. */
static int32_t read_request(tn__request_t *request, const tn_host_slot_t *head, outside_t *outside) {
  request->operation = head->operation;
  request->target = head->target;
  request->length = head->length;
  if ((head->flags & TN_HOST_LONG_BODY) == 0) {
    TN__CHECK(request, head->length <= TN_HOST_BODY_SIZE, "the body of a request must have at most %u bytes, got %u",
              TN_HOST_BODY_SIZE, head->length);
    memcpy(slot_body, request->reply, head->length);
    request->body = slot_body;
  }
  const int32_t status = read_outside(request, head, outside);
  if (status != TN_OK) return status;
  const bool is_outside = outside->operands != NULL;
  request->addresses =
      is_outside ? (void **)(void *)((tn_host_operand_t *)outside->operands + request->count) : slot_addresses;
  memset(request->addresses, 0, request->count * sizeof *request->addresses);
  return TN_OK;
}

static int32_t dispatch(tn__request_t *request) {
  switch (request->operation) {
    case TN_HOST_LOAD: return tn__serve_load(request);
    case TN_HOST_KERNEL: return tn__serve_kernel(request);
    case TN_HOST_RELEASE_KERNEL: return tn__serve_release_kernel(request);
    case TN_HOST_MEMORY: return tn__serve_memory(request);
    case TN_HOST_RELEASE_MEMORY: return tn__serve_release_memory(request);
    case TN_HOST_RUN: return tn__serve_run(request);
    case TN_HOST_FETCH: return tn__serve_fetch(request);
    case TN_HOST_RELEASE_VALUE: return tn__serve_release_value(request);
    default: return tn__refuse(request, TN_INVALID_ARGUMENT, "the operation of a request must be known, got %u",
                               request->operation);
  }
}

void tn__host_serve(uint8_t *command, uint32_t index) {
  static uint64_t last;
  if (index >= TN_HOST_SLOTS) return;
  /* The client has written its settings before the first request. */
  if (last == 0) tn__memories_guard((((const tn_host_header_t *)(const void *)command)->flags & TN_HOST_GUARD) != 0);
  tn__request_t request = {.number = ++last, .index = index};
  request.slot = (tn_host_slot_t *)(void *)(command + TN_HOST_SLOTS_OFFSET + (size_t)index * TN_HOST_SLOT_SIZE);
  request.reply = command + TN_HOST_BODIES_OFFSET + (size_t)index * TN_HOST_BODY_SIZE;
  tn_host_slot_t head;
  memcpy(&head, request.slot, sizeof head);
  tn__clear_answer(&request);
  outside_t outside = {NULL, NULL};
  tn__request_in_progress = &request;
  if (read_request(&request, &head, &outside) == TN_OK) dispatch(&request);
  tn__request_in_progress = NULL;
  free(outside.operands);
  free(outside.body);
}
