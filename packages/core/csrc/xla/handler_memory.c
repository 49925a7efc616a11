/* DeviceMemory_Allocate and DeviceMemory_Free. The memory lives at most as long as the run. */
#include <stdlib.h>

#include "error.h"
#include "internal.h"

/* The limit of XLA. */
#define LARGEST_ALIGNMENT 16
#define HOST_ALIGNMENT 64

/* Guards the blocks of all calls, because handlers may allocate on several threads. */
static tn__lock_t lock = TN__LOCK;

static int32_t allocate_on_host(void *data, size_t size, size_t alignment, void **out) {
  (void)data, (void)alignment;
  return tn_memory_allocate(size, HOST_ALIGNMENT, out);
}

static int32_t free_on_host(void *data, void *memory, size_t size) {
  (void)data, (void)size;
  tn_memory_free(memory);
  return TN_OK;
}

static const tn_xla_memory_t host = {sizeof host, allocate_on_host, free_on_host, NULL};

int32_t tn_xla_give_memory(void *call, const tn_xla_memory_t *memory) {
  TN_REQUIRE(call != NULL && (memory == NULL || (memory->struct_size >= sizeof *memory && memory->allocate &&
             memory->free)),
             "call must not be null, and memory must have its struct_size and both functions");
  ((tn__xla_call_t *)call)->context.memory = memory == NULL ? &host : memory;
  return TN_OK;
}

/* Returns null, or the error of a context without memory. On the host XLA uses another code for each function. */
static tn_xla_error_t *find_memory(const tn_xla_context_t *context, int32_t code, const tn_xla_memory_t **out) {
  const tn_xla_context_t *owner = context == NULL ? NULL : context->owner;
  *out = owner == NULL ? NULL : owner->memory;
  if (*out != NULL) return NULL;
  if (owner == NULL || owner->device == NULL) return tn__xla_error(code, "XLA FFI GPU context is not available");
  return tn__xla_error(TN_XLA_UNIMPLEMENTED, "No device memory allocator available on this platform");
}

tn_xla_error_t *tn__xla_memory_allocate(tn_xla_memory_allocate_args_t *args) {
  CHECK_SIZE("DeviceMemory_Allocate", sizeof *args);
  const tn_xla_memory_t *memory = NULL;
  tn_xla_error_t *wrong = find_memory(args->ctx, TN_XLA_INVALID_ARGUMENT, &memory);
  if (wrong != NULL) return wrong;
  const size_t alignment = args->alignment;
  if (alignment == 0 || alignment > LARGEST_ALIGNMENT || (alignment & (alignment - 1)) != 0)
    return tn__xla_error(TN_XLA_INVALID_ARGUMENT, "Unsupported alignment: %zu", alignment);
  if (args->ctx->captures)
    return tn__xla_error(TN_XLA_FAILED_PRECONDITION, "a handler cannot allocate while its work is captured");
  args->data = NULL;
  if (args->size == 0) return NULL;
  tn__xla_block_t *block = malloc(sizeof *block);
  void *data = NULL;
  if (block == NULL || memory->allocate(memory->data, args->size, alignment, &data) != TN_OK) {
    free(block);
    return tn__xla_error(TN_XLA_RESOURCE_EXHAUSTED, "Failed to allocate %zu bytes", args->size);
  }
  *block = (tn__xla_block_t){NULL, data, args->size};
  tn__lock(&lock);
  block->next = args->ctx->blocks;
  args->ctx->blocks = block;
  tn__unlock(&lock);
  args->data = data;
  return NULL;
}

tn_xla_error_t *tn__xla_memory_free(tn_xla_memory_free_args_t *args) {
  CHECK_SIZE("DeviceMemory_Free", sizeof *args);
  const tn_xla_memory_t *memory = NULL;
  tn_xla_error_t *wrong = find_memory(args->ctx, TN_XLA_UNIMPLEMENTED, &memory);
  if (wrong != NULL || args->data == NULL) return wrong;
  tn__lock(&lock);
  tn__xla_block_t **place = &args->ctx->blocks;
  while (*place != NULL && (*place)->memory != args->data) place = &(*place)->next;
  tn__xla_block_t *block = *place;
  if (block != NULL) *place = block->next;
  tn__unlock(&lock);
  if (block == NULL) return tn__xla_error(TN_XLA_INVALID_ARGUMENT, "%p was not allocated in this run", args->data);
  const int32_t status = memory->free(memory->data, block->memory, block->size);
  free(block);
  return status == TN_OK ? NULL : tn__xla_error(TN_XLA_INTERNAL, "%s", tn_last_error());
}

void tn__xla_memory_clear(tn_xla_context_t *context) {
  while (context->blocks != NULL) {
    tn__xla_block_t *block = context->blocks;
    context->blocks = block->next;
    context->owner->memory->free(context->owner->memory->data, block->memory, block->size);
    free(block);
  }
}
