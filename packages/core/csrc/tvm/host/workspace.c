/* Scratch memory of kernels. Each thread keeps freed blocks and reuses them for later calls. */
#include <stdio.h>
#include <stdlib.h>

#include "error.h"
#include "host.h"
#include "tenon/tvm_backend.h"
#include "thread_end.h"

#define ALIGNMENT 64
#define KEPT_LIMIT 16

/* The head of a workspace, padded to the alignment. */
typedef struct {
  size_t byte_size;
  char padding[ALIGNMENT - sizeof(size_t)];
} block_t;

_Static_assert(sizeof(block_t) == ALIGNMENT, "a workspace must be aligned after its head");

typedef struct {
  block_t *blocks[KEPT_LIMIT]; /* in the order in which they were freed */
  int count;
} kept_t;

static _Thread_local kept_t *own;

static void free_kept(void *value) {
  kept_t *kept = value;
  for (int i = 0; i < kept->count; i++) tn_memory_free(kept->blocks[i]);
  free(kept);
  own = NULL;
}

static tn__thread_end_t thread_end = TN__THREAD_END(free_kept);

/* The calling thread's blocks, freed when it ends; null without memory. */
static kept_t *kept_blocks(void) {
  if (own != NULL) return own;
  kept_t *kept = calloc(1, sizeof *kept);
  if (kept != NULL && !tn__at_thread_end(&thread_end, kept)) {
    free(kept);
    return NULL;
  }
  return own = kept;
}

static bool is_cpu(int device_type) {
  if (device_type == kDLCPU) return true;
  char message[96];
  snprintf(message, sizeof message, "a workspace must be on the CPU (device type %d), got device type %d", kDLCPU,
           device_type);
  tn__packed_raise("RuntimeError", message);
  return false;
}

void *TVMBackendAllocWorkspace(int device_type, int device_id, uint64_t byte_size, int dtype_code_hint,
                               int dtype_bits_hint) {
  (void)device_id, (void)dtype_code_hint, (void)dtype_bits_hint;
  if (!is_cpu(device_type)) return NULL;
  kept_t *kept = kept_blocks();
  for (int i = kept == NULL ? -1 : kept->count - 1; i >= 0; i--) {
    block_t *block = kept->blocks[i];
    /* Blocks that are much larger stay for later calls. */
    if (block->byte_size < byte_size || block->byte_size / 4 > byte_size + 4096) continue;
    for (kept->count--; i < kept->count; i++) kept->blocks[i] = kept->blocks[i + 1];
    return block + 1;
  }
  void *memory = NULL;
  if (byte_size > PTRDIFF_MAX - sizeof(block_t) ||
      tn_memory_allocate((size_t)byte_size + sizeof(block_t), ALIGNMENT, &memory) != TN_OK) {
    tn__packed_raise("MemoryError", "out of memory for a workspace");
    return NULL;
  }
  block_t *block = memory;
  block->byte_size = (size_t)byte_size;
  return block + 1;
}

int TVMBackendFreeWorkspace(int device_type, int device_id, void *workspace) {
  (void)device_id;
  if (workspace == NULL) return 0;
  if (!is_cpu(device_type)) return -1;
  block_t *block = (block_t *)workspace - 1;
  kept_t *kept = kept_blocks();
  if (kept == NULL || kept->count == KEPT_LIMIT)
    tn_memory_free(block);
  else
    kept->blocks[kept->count++] = block;
  return 0;
}
