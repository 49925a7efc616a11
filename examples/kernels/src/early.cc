// Handlers as those of XLA FFI 0.0, which do not know the question about their metadata: they decode a call without
// operands. The library exports members of a template of XLA's header, as every library that is made with it does.
#include <tenon/xla_handler.h>
#include <tenon/xla_mark.h>

namespace xla::ffi {
template <int stage>
struct Handler {
  __attribute__((visibility("default"), noinline)) tn_xla_error_t *Call(tn_xla_call_frame_t *frame) const {
    if (stage == TN_XLA_EXECUTE && frame->args.size == 0)
      return tn_xla_fail(frame, TN_XLA_INVALID_ARGUMENT, "Wrong number of arguments: expected 1 but got 0");
    return nullptr;
  }
};
template struct __attribute__((visibility("default"))) Handler<TN_XLA_EXECUTE>;
template struct __attribute__((visibility("default"))) Handler<TN_XLA_PREPARE>;
}  // namespace xla::ffi

TN_XLA_EXPORT tn_xla_error_t *decoding_early(tn_xla_call_frame_t *frame) {
  return xla::ffi::Handler<TN_XLA_EXECUTE>().Call(frame);
}
TN_XLA_MARK_TYPED(decoding_early);
TN_XLA_EXPORT tn_xla_error_t *silent_early(tn_xla_call_frame_t *frame) {
  return xla::ffi::Handler<TN_XLA_PREPARE>().Call(frame);
}
TN_XLA_MARK_TYPED(silent_early);
