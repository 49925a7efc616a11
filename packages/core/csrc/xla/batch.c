/* Batches, which run several calls for the cost of one call from JavaScript. */
#include "internal.h"

int32_t tn__xla_execute_batch(tn_xla_batch_t *batch) {
  TN_REQUIRE(batch != NULL && (batch->entries != NULL || batch->count == 0), "batch and its entries must not be null");
  for (size_t i = 0; i < batch->count; i++) {
    const tn_xla_batch_entry_t *entry = &batch->entries[i];
    const int32_t status = entry->is_typed ? tn__xla_execute(entry->call) : tn__xla_execute_untyped(entry->call);
    if (status == TN_OK) continue;
    batch->failed = i;
    return status;
  }
  return TN_OK;
}

int32_t tn_xla_execute_batch(void *batch) { return tn__xla_execute_batch(batch); }
