/* Kernels in C++ that throw. */
#include <stdexcept>
#include <string>

#include "typed.h"

/* Accepts any operands and results. Returns whether the handler must run. */
static bool open(tn_xla_reader_t &in, tn_xla_call_frame_t *frame, int32_t minor, int64_t attrs) {
  const tn_xla_signature_t signature = {minor, TN_XLA_EXECUTE, 0, TN_XLA_ANY, TN_XLA_ANY, attrs};
  return tn_xla_open(&in, frame, &signature) != 0;
}

/* Throws std::runtime_error with the attribute message (string). */
TN_XLA_EXPORT tn_xla_error_t *throw_runtime_error(tn_xla_call_frame_t *frame) {
  tn_xla_reader_t in;
  if (!open(in, frame, 1, 1)) return in.error;
  const tn_xla_span_t message = tn_xla_attr_string(&in, nullptr, "message");
  if (!tn_xla_complete(&in)) return in.error;
  throw std::runtime_error(std::string(message.ptr, message.len));
}
TN_XLA_MARK_TYPED(throw_runtime_error);

/* Throws std::logic_error, in a handler for each version of the ABI. */
static tn_xla_error_t *throw_as(tn_xla_call_frame_t *frame, int32_t minor) {
  tn_xla_reader_t in;
  if (!open(in, frame, minor, 0)) return in.error;
  throw std::logic_error("thrown by 0." + std::to_string(minor));
}
TYPED_HANDLER(throw_v1, throw_as(frame, 1));
TYPED_HANDLER(throw_v2, throw_as(frame, 2));
TYPED_HANDLER(throw_v3, throw_as(frame, 3));

/* Throws an int. */
TN_XLA_EXPORT tn_xla_error_t *throw_int(tn_xla_call_frame_t *frame) {
  tn_xla_reader_t in;
  if (!open(in, frame, 1, 0)) return in.error;
  throw 42;
}
TN_XLA_MARK_TYPED(throw_int);

/* Throws std::runtime_error from an untyped custom call. */
TN_XLA_EXPORT void throw_from_host_call(void *, const void **) { throw std::runtime_error("from a host call"); }
TN_XLA_MARK_HOST(throw_from_host_call);
