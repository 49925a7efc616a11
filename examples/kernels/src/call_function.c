/* A handler that calls back a function, whose address is an attribute. */
#include <tenon/xla_handler.h>
#include <tenon/xla_mark.h>

/* Calls `function(argument, NULL, NULL)` and writes the returned value to the result s32[]. Attributes argument and
 * function: addresses as s64. */
TN_XLA_EXPORT tn_xla_error_t *call_function(tn_xla_call_frame_t *frame) {
  static const tn_xla_signature_t signature = {
      .minor = 1, .stage = TN_XLA_EXECUTE, .args = TN_XLA_ANY, .rets = 1, .attrs = 2};
  tn_xla_reader_t in;
  if (!tn_xla_open(&in, frame, &signature)) return in.error;
  tn_xla_buffer_t *out = tn_xla_ret(&in, 0, TN_XLA_S32, 0);
  const int64_t argument = tn_xla_attr_s64(&in, NULL, "argument");
  const int64_t address = tn_xla_attr_s64(&in, NULL, "function");
  if (!tn_xla_complete(&in)) return in.error;
  int32_t (*function)(void *, void *, void *) = NULL;
  memcpy(&function, &address, sizeof function);
  *(int32_t *)out->data = function((void *)(uintptr_t)argument, NULL, NULL);
  return NULL;
}
TN_XLA_MARK_TYPED(call_function);
