/* A kernel with a defect: it writes to an invalid address. */
#include <tenon/xla_handler.h>
#include <tenon/xla_mark.h>

static char *volatile nowhere;

TN_XLA_EXPORT tn_xla_error_t *write_nowhere(tn_xla_call_frame_t *frame) {
  static const tn_xla_signature_t signature = {.minor = 1, .stage = TN_XLA_EXECUTE, .args = TN_XLA_ANY, .rets = TN_XLA_ANY};
  tn_xla_reader_t in;
  if (!tn_xla_open(&in, frame, &signature)) return in.error;
  *nowhere = 1;
  return NULL;
}
TN_XLA_MARK_TYPED(write_nowhere);
