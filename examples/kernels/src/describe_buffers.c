/* Writes the types of its buffers as text, with a star for a null pointer: "f32[2,4] token*". */
#include <tenon/xla_handler.h>
#include <tenon/xla_mark.h>

typedef struct {
  char *text;
  size_t capacity;
  size_t length;
} writer_t;

static void add(writer_t *out, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(out->text + out->length, out->capacity - out->length, format, arguments);
  va_end(arguments);
  if (length > 0) out->length += (size_t)length;
  if (out->length >= out->capacity) out->length = out->capacity - 1;
}

static void add_buffers(writer_t *out, int64_t count, void **buffers) {
  for (int64_t i = 0; i < count; i++) {
    const tn_xla_buffer_t *buffer = buffers[i];
    add(out, "%s%s[", i == 0 ? "" : " ", tn_xla_dtype_name(buffer->dtype));
    for (int64_t axis = 0; axis < buffer->rank; axis++)
      add(out, axis == 0 ? "%lld" : ",%lld", (long long)buffer->dims[axis]);
    add(out, buffer->data == NULL ? "]*" : "]");
  }
}

/* Takes buffers of any type. The last result, u8[n] with n > 0, receives the text, which ends in NUL. */
TN_XLA_EXPORT tn_xla_error_t *describe_buffers(tn_xla_call_frame_t *frame) {
  static const tn_xla_signature_t signature = {
      .minor = 2, .stage = TN_XLA_EXECUTE, .args = TN_XLA_ANY, .rets = TN_XLA_ANY, .attrs = TN_XLA_ANY};
  tn_xla_reader_t in;
  if (!tn_xla_open(&in, frame, &signature)) return in.error;
  const int64_t last = frame->rets.size - 1;
  tn_xla_buffer_t *text = tn_xla_ret(&in, last, TN_XLA_U8, 1);
  if (!tn_xla_complete(&in)) return in.error;
  if (text->dims[0] == 0) return tn_xla_fail(frame, TN_XLA_INVALID_ARGUMENT, "the last result must not be empty");
  writer_t out = {text->data, (size_t)text->dims[0], 0};
  add_buffers(&out, frame->args.size, frame->args.args);
  add(&out, " -> ");
  add_buffers(&out, frame->rets.size, frame->rets.rets);
  return NULL;
}
TN_XLA_MARK_TYPED(describe_buffers);
