/* The memory of threads of JavaScript. A thread that is terminated runs no JavaScript that could close it. */
#include <stdlib.h>

#include "base/status.h"
#include "base/owned.h"
#include "tenon_call.h"
#include "tenon_pools.h"

/* The jobs of the thread have ended before this runs, so no native call uses the memory any more. */
static void close_all(void *data) {
  (void)data;
  for (tn__owned_t *owned = tn__owned_take_all(), *next; owned != NULL; owned = next) {
    next = owned->next;
    if (owned->byte_size != 0)
      tn_mapping_close((void *)owned->key, owned->byte_size);
    else
      tn_descriptor_discard((int32_t)owned->key); /* It may be that of a peer. */
    free(owned);
  }
}

int32_t tn_thread_memory_begin(void) {
  if (tn__owned_has_begun()) return TN_OK;
  TN_TRY(tn_environment_on_end(close_all, NULL));
  tn__owned_begin();
  return TN_OK;
}

void tn_thread_memory_leave(int32_t descriptor) { tn__owned_forget_descriptor(descriptor); }
