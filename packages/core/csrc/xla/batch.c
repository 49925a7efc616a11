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

int32_t tn__xla_enter_batch(tn_xla_batch_t *batch) {
  TN_REQUIRE(batch != NULL && (batch->entries != NULL || batch->count == 0), "batch and its entries must not be null");
  for (size_t i = 0; i < batch->count; i++) {
    const tn_xla_batch_entry_t *entry = &batch->entries[i];
    /* Before the call, which an exception can end. */
    batch->failed = i;
    TN_TRY(entry->is_typed ? tn__xla_enter_call(entry->call) : tn__xla_enter_untyped(entry->call));
  }
  return TN_OK;
}

int32_t tn_xla_execute_batch(void *batch) { return tn__xla_execute_batch(batch); }

int32_t tn_xla_end_exception(void *call, int32_t kind, int32_t status) {
  TN_REQUIRE(call != NULL && kind >= TN_XLA_JOB_UNTYPED && kind <= TN_XLA_JOB_BATCH,
             "call must not be null, and kind must be TN_XLA_JOB_*");
  if (kind == TN_XLA_JOB_UNTYPED) return tn__xla_end_untyped_exception(call, status);
  if (kind == TN_XLA_JOB_TYPED) return tn__xla_end_exception(call, status);
  const tn_xla_batch_t *batch = call;
  const tn_xla_batch_entry_t *entry = &batch->entries[batch->failed];
  return tn_xla_end_exception(entry->call, entry->is_typed ? TN_XLA_JOB_TYPED : TN_XLA_JOB_UNTYPED, status);
}
