/* y = activation(scale * x + shift), applied several times. The kernel has attributes of every kind. */
#include <tenon/signature.h>
#include <tenon/xla_handler.h>
#include <tenon/xla_mark.h>

typedef struct {
  float scale;
  tn_xla_array_t shift; /* f32, one for each element of the last axis, or one for all */
  int relu;
  int clip;
  int64_t times;
  float low, high;
} options_t;

static float apply(const options_t *options, float value, float shift) {
  for (int64_t k = 0; k < options->times; k++) {
    value = options->scale * value + shift;
    if (options->relu && value < 0) value = 0;
    if (options->clip && value < options->low) value = options->low;
    if (options->clip && value > options->high) value = options->high;
  }
  return value;
}

static int is(tn_xla_span_t string, const char *word) {
  return string.len == strlen(word) && memcmp(string.ptr, word, string.len) == 0;
}

TN_SIGNATURE(scale_shift,
             "(x: f32[...s]) -> (y: f32[...s]); scale: f32 = 1, shift: f32[] = [0], times: s64 = 1, "
             "activation: enum('none', 'relu') = 'none', clip: pred = false, "
             "limits: { low: f32 = -inf, high: f32 = inf } "
             "-- y = activation(scale * x + shift), applied several times and limited after each time.");

TN_XLA_EXPORT tn_xla_error_t *scale_shift(tn_xla_call_frame_t *frame) {
  static const tn_xla_signature_t signature = {.minor = 3, .stage = TN_XLA_EXECUTE, .args = 1, .rets = 1, .attrs = 6};
  tn_xla_reader_t in;
  if (!tn_xla_open(&in, frame, &signature)) return in.error;
  const tn_xla_buffer_t *x = tn_xla_arg(&in, 0, TN_XLA_F32, TN_XLA_ANY);
  tn_xla_buffer_t *y = tn_xla_ret(&in, 0, TN_XLA_F32, TN_XLA_ANY);
  options_t options = {.scale = tn_xla_attr_f32(&in, NULL, "scale"),
                       .shift = tn_xla_attr_array(&in, NULL, "shift", TN_XLA_F32),
                       .clip = tn_xla_attr_pred(&in, NULL, "clip"),
                       .times = tn_xla_attr_s64(&in, NULL, "times")};
  const tn_xla_span_t activation = tn_xla_attr_string(&in, NULL, "activation");
  const tn_xla_attrs_t *limits = tn_xla_attr_dictionary(&in, NULL, "limits");
  if (!tn_xla_complete(&in)) return in.error;
  options.low = tn_xla_attr_f32(&in, limits, "low");
  options.high = tn_xla_attr_f32(&in, limits, "high");
  if (!tn_xla_complete(&in)) return in.error;
  options.relu = is(activation, "relu");
  if (!options.relu && !is(activation, "none"))
    return tn_xla_fail(frame, TN_XLA_INVALID_ARGUMENT, "activation must be none or relu, got %.*s", (int)activation.len,
                       activation.ptr);
  if (options.shift.size == 0 || !tn_xla_same_shape(x, y))
    return tn_xla_fail(frame, TN_XLA_INVALID_ARGUMENT, "shift must not be empty, and y must have the shape of x");
  const float *shift = options.shift.data;
  const int64_t count = tn_xla_element_count(x);
  for (int64_t i = 0; i < count; i++)
    ((float *)y->data)[i] = apply(&options, ((const float *)x->data)[i], shift[(size_t)i % options.shift.size]);
  return NULL;
}
