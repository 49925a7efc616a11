/* Writes the attributes it is given as text, to see what reaches a handler: `a=F32:1.5 b={c=STRING:"x"} d=S8[1,2]`. */
#include <inttypes.h>

#include <tenon/xla_handler.h>
#include <tenon/xla_mark.h>

/* Text in a buffer of fixed size; what does not fit is counted and left out. */
typedef struct {
  char *at;
  size_t left;
  size_t needed;
} text_t;

static void add(text_t *text, const char *bytes, size_t length) {
  const size_t fits = length < text->left ? length : text->left;
  if (fits > 0) memcpy(text->at, bytes, fits);
  text->at += fits;
  text->left -= fits;
  text->needed += length;
}

static void add_string(text_t *text, const char *string) { add(text, string, strlen(string)); }

static void add_element(text_t *text, int32_t dtype, const void *at) {
  char number[64];
  union {
    int8_t s8;
    int16_t s16;
    int32_t s32;
    int64_t s64;
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
    float f32;
    double f64;
  } value;
  memcpy(&value, at, tn_xla_dtype_size(dtype) <= sizeof value ? tn_xla_dtype_size(dtype) : sizeof value);
  switch (dtype) {
    case TN_XLA_PRED:
      snprintf(number, sizeof number, "%s", value.u8 ? "true" : "false");
      break;
    case TN_XLA_S8:
      snprintf(number, sizeof number, "%" PRId8, value.s8);
      break;
    case TN_XLA_S16:
      snprintf(number, sizeof number, "%" PRId16, value.s16);
      break;
    case TN_XLA_S32:
      snprintf(number, sizeof number, "%" PRId32, value.s32);
      break;
    case TN_XLA_S64:
      snprintf(number, sizeof number, "%" PRId64, value.s64);
      break;
    case TN_XLA_U8:
      snprintf(number, sizeof number, "%" PRIu8, value.u8);
      break;
    case TN_XLA_U16:
      snprintf(number, sizeof number, "%" PRIu16, value.u16);
      break;
    case TN_XLA_U32:
      snprintf(number, sizeof number, "%" PRIu32, value.u32);
      break;
    case TN_XLA_U64:
      snprintf(number, sizeof number, "%" PRIu64, value.u64);
      break;
    case TN_XLA_F32:
      snprintf(number, sizeof number, "%.9g", (double)value.f32);
      break;
    case TN_XLA_F64:
      snprintf(number, sizeof number, "%.17g", value.f64);
      break;
    default:
      snprintf(number, sizeof number, "?");
  }
  add_string(text, number);
}

static void add_array(text_t *text, const tn_xla_array_t *array) {
  add_string(text, tn_xla_dtype_name(array->dtype));
  add_string(text, "[");
  for (size_t i = 0; i < array->size; i++) {
    if (i > 0) add_string(text, ",");
    add_element(text, array->dtype, (const char *)array->data + i * tn_xla_dtype_size(array->dtype));
  }
  add_string(text, "]");
}

static void add_attrs(text_t *text, const tn_xla_attrs_t *attrs) {
  for (int64_t i = 0; i < attrs->size; i++) {
    if (i > 0) add_string(text, " ");
    add(text, attrs->names[i]->ptr, attrs->names[i]->len);
    add_string(text, "=");
    if (attrs->types[i] == TN_XLA_SCALAR) {
      const tn_xla_scalar_t *scalar = attrs->attrs[i];
      add_string(text, tn_xla_dtype_name(scalar->dtype));
      add_string(text, ":");
      add_element(text, scalar->dtype, scalar->value);
    } else if (attrs->types[i] == TN_XLA_ARRAY) {
      add_array(text, attrs->attrs[i]);
    } else if (attrs->types[i] == TN_XLA_STRING) {
      const tn_xla_span_t *string = attrs->attrs[i];
      add_string(text, "STRING:\"");
      add(text, string->ptr, string->len);
      add_string(text, "\"");
    } else {
      add_string(text, "{");
      add_attrs(text, attrs->attrs[i]);
      add_string(text, "}");
    }
  }
}

/* No operand; result u8[n]: UTF-8, filled up with zeroes. RESOURCE_EXHAUSTED names the size if n is too small. */
TN_XLA_EXPORT tn_xla_error_t *describe_attrs(tn_xla_call_frame_t *frame) {
  static const tn_xla_signature_t signature = {
      .minor = 1, .stage = TN_XLA_EXECUTE, .args = 0, .rets = 1, .attrs = TN_XLA_ANY};
  tn_xla_reader_t in;
  if (!tn_xla_open(&in, frame, &signature)) return in.error;
  tn_xla_buffer_t *out = tn_xla_ret(&in, 0, TN_XLA_U8, 1);
  if (!tn_xla_complete(&in)) return in.error;
  text_t text = {out->data, (size_t)out->dims[0], 0};
  add_attrs(&text, &frame->attrs);
  if (text.needed > (size_t)out->dims[0])
    return tn_xla_fail(frame, TN_XLA_RESOURCE_EXHAUSTED, "the text has %zu bytes, the result %lld", text.needed,
                       (long long)out->dims[0]);
  memset(text.at, 0, text.left);
  return NULL;
}
TN_XLA_MARK_TYPED(describe_attrs);
