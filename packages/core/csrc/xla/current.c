/* Entries that run the call whose address is the first integer of the frame. Exceptions leave them. */
#include "base/read_address.h"
#include "internal.h"

static void *current_call(const tn_call_frame_t *frame) { return tn__read_address(&frame->integers[0]); }

int32_t tn_xla_execute_current(tn_call_frame_t *frame) { return tn__xla_enter_call(current_call(frame)); }

int32_t tn_xla_execute_untyped_current(tn_call_frame_t *frame) { return tn__xla_enter_untyped(current_call(frame)); }

int32_t tn_xla_execute_batch_current(tn_call_frame_t *frame) { return tn__xla_enter_batch(current_call(frame)); }
