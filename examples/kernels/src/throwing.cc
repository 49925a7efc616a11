/* Kernels in C++ that throw. */
#include <new>
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
TYPED_HANDLER(throw_v4, throw_as(frame, 4));

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

/* Untyped custom calls that throw what is not a std::exception of the standard library. */
namespace fixture {
struct parse_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};
enum class reason { none };
}  // namespace fixture

TN_XLA_EXPORT void throw_string(void *, const void **) { throw std::string("a string"); }
TN_XLA_MARK_HOST(throw_string);
TN_XLA_EXPORT void throw_chars(void *, const void **) { throw "some characters"; }
TN_XLA_MARK_HOST(throw_chars);
TN_XLA_EXPORT void throw_null(void *, const void **) { throw static_cast<const char *>(nullptr); }
TN_XLA_MARK_HOST(throw_null);
TN_XLA_EXPORT void throw_parse_error(void *, const void **) { throw fixture::parse_error("line 3 (of 5)"); }
TN_XLA_MARK_HOST(throw_parse_error);
TN_XLA_EXPORT void throw_reason(void *, const void **) { throw fixture::reason::none; }
TN_XLA_MARK_HOST(throw_reason);
TN_XLA_EXPORT void throw_bad_alloc(void *, const void **) { throw std::bad_alloc(); }
TN_XLA_MARK_HOST(throw_bad_alloc);
TN_XLA_EXPORT void throw_long_text(void *, const void **) { throw std::runtime_error(std::string(5000, 'x')); }
TN_XLA_MARK_HOST(throw_long_text);

/* Throws std::bad_alloc. */
TN_XLA_EXPORT tn_xla_error_t *run_out_of_memory(tn_xla_call_frame_t *frame) {
  tn_xla_reader_t in;
  if (!open(in, frame, 1, 0)) return in.error;
  throw std::bad_alloc();
}
TN_XLA_MARK_TYPED(run_out_of_memory);

/* A target of 0.1 with a state whose deleter throws. */
static void throw_from_deleter(void *) { throw std::runtime_error("from a deleter"); }

TN_XLA_EXPORT tn_xla_error_t *throwing_state(tn_xla_call_frame_t *frame) {
  tn_xla_reader_t in;
  open(in, frame, 1, 0);
  return in.error;
}
TN_XLA_MARK_TYPED(throwing_state);

TN_XLA_EXPORT tn_xla_error_t *throwing_state_instantiate(tn_xla_call_frame_t *frame) {
  const tn_xla_signature_t signature = {1, TN_XLA_INSTANTIATE, 0, 0, 0, 0};
  tn_xla_reader_t in;
  if (!tn_xla_open(&in, frame, &signature)) return in.error;
  static tn_xla_type_id_t id;
  static int64_t state;
  static const char name[] = "throwing_state";
  if (id.type_id == 0) {
    tn_xla_type_register_args_v1_t type = {sizeof type, nullptr, {name, sizeof name - 1}, &id};
    tn_xla_error_t *error = frame->api->type_register(&type);
    if (error != nullptr) return error;
  }
  tn_xla_state_set_args_v1_t set = {sizeof set, nullptr, frame->ctx, &id, &state, throw_from_deleter};
  return frame->api->state_set(&set);
}

/* Calls the function at the address `function` (attribute, s64), and throws std::runtime_error. */
TN_XLA_EXPORT tn_xla_error_t *call_and_throw(tn_xla_call_frame_t *frame) {
  tn_xla_reader_t in;
  if (!open(in, frame, 1, 1)) return in.error;
  const int64_t address = tn_xla_attr_s64(&in, nullptr, "function");
  if (!tn_xla_complete(&in)) return in.error;
  reinterpret_cast<void (*)()>(address)();
  throw std::runtime_error("after the call");
}
TN_XLA_MARK_TYPED(call_and_throw);
