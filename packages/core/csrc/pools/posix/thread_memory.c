/* The shared memory of threads of JavaScript. A thread that is terminated runs no JavaScript that could close it. */
#include <stdbool.h>
#include <stdlib.h>

#include "../../call/environment.h"
#include "tenon_pools.h"

struct tn_thread_memory {
  int32_t descriptor;
  void *address;
  size_t byte_size;
  tn_thread_memory_t *next, **reference;
};

/* Only the thread itself changes the list. */
static _Thread_local tn_thread_memory_t *of_thread;
static _Thread_local bool is_hooked;

/* The jobs of the thread have ended before this runs, so no native call uses the memory any more. */
static void close_all(void *data) {
  (void)data;
  for (tn_thread_memory_t *memory; (memory = of_thread) != NULL;) {
    if (memory->address != NULL) tn_mapping_close(memory->address, memory->byte_size);
    if (memory->descriptor >= 0) tn_descriptor_close(memory->descriptor);
    tn_thread_memory_remove(memory);
  }
  is_hooked = false;
}

int32_t tn_thread_memory_add(int32_t descriptor, void *address, size_t byte_size, tn_thread_memory_t **out) {
  TN_REQUIRE(out != NULL, "out must not be null");
  tn_thread_memory_t *added = malloc(sizeof *added);
  if (added == NULL) return tn__fail(TN_OUT_OF_MEMORY, "out of memory: cannot note the memory of a thread");
  const int32_t status = is_hooked ? TN_OK : tn_environment_on_end(close_all, NULL);
  if (status != TN_OK) {
    free(added);
    return status;
  }
  is_hooked = true;
  *added = (tn_thread_memory_t){descriptor, address, byte_size, of_thread, &of_thread};
  if (of_thread != NULL) of_thread->reference = &added->next;
  of_thread = added;
  *out = added;
  return TN_OK;
}

void tn_thread_memory_remove(tn_thread_memory_t *memory) {
  *memory->reference = memory->next;
  if (memory->next != NULL) memory->next->reference = memory->reference;
  free(memory);
}
