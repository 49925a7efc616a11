/* Kernels in C++ that throw. */
#include <stdexcept>
#include <string>

#include <tenon/xla_handler.h>
#include <tenon/xla_mark.h>

namespace {

/* Takes any operands and results; true when the handler has to run. */
bool open(tn_xla_reader_t &in, tn_xla_call_frame_t *frame, int64_t attrs) {
  const tn_xla_signature_t signature = {1, TN_XLA_EXECUTE, 0, TN_XLA_ANY, TN_XLA_ANY, attrs};
  return tn_xla_open(&in, frame, &signature) != 0;
}

}  // namespace

/* Throws std::runtime_error with the attribute message (string). */
TN_XLA_EXPORT tn_xla_error_t *throw_runtime_error(tn_xla_call_frame_t *frame) {
  tn_xla_reader_t in;
  if (!open(in, frame, 1)) return in.error;
  const tn_xla_span_t message = tn_xla_attr_string(&in, nullptr, "message");
  if (!tn_xla_complete(&in)) return in.error;
  throw std::runtime_error(std::string(message.ptr, message.len));
}
TN_XLA_MARK_TYPED(throw_runtime_error);

/* The same for each version of the ABI, with words of their own. */
template <int minor>
tn_xla_error_t *throw_as(tn_xla_call_frame_t *frame) {
  const tn_xla_signature_t signature = {minor, TN_XLA_EXECUTE, 0, TN_XLA_ANY, TN_XLA_ANY, 0};
  tn_xla_reader_t in;
  if (tn_xla_open(&in, frame, &signature) == 0) return in.error;
  throw std::logic_error("thrown by 0." + std::to_string(minor));
}
TN_XLA_EXPORT tn_xla_error_t *throw_v1(tn_xla_call_frame_t *frame) { return throw_as<1>(frame); }
TN_XLA_MARK_TYPED(throw_v1);
TN_XLA_EXPORT tn_xla_error_t *throw_v2(tn_xla_call_frame_t *frame) { return throw_as<2>(frame); }
TN_XLA_MARK_TYPED(throw_v2);
TN_XLA_EXPORT tn_xla_error_t *throw_v3(tn_xla_call_frame_t *frame) { return throw_as<3>(frame); }
TN_XLA_MARK_TYPED(throw_v3);

/* Throws an int. */
TN_XLA_EXPORT tn_xla_error_t *throw_int(tn_xla_call_frame_t *frame) {
  tn_xla_reader_t in;
  if (!open(in, frame, 0)) return in.error;
  throw 42;
}
TN_XLA_MARK_TYPED(throw_int);

/* Untyped: throws too. */
TN_XLA_EXPORT void throw_from_host_call(void *, const void **) { throw std::runtime_error("from a host call"); }
TN_XLA_MARK_HOST(throw_from_host_call);
