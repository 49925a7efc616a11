/* Writes its attributes as text, such as `a=F32:1.5 b={c=STRING:"x"} d=S8[1,2]`. */
#include <inttypes.h>

#include <tenon/xla_handler.h>
#include <tenon/xla_mark.h>

/* Text in a buffer of fixed size. Bytes that do not fit are counted and omitted. */
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

/* A case that formats a value of one type. */
#define NUMBER(dtype, type, format)                     \
  case dtype: {                                         \
    type value;                                         \
    memcpy(&value, at, sizeof value);                   \
    snprintf(number, sizeof number, "%" format, value); \
    break;                                              \
  }

static void add_element(text_t *text, int32_t dtype, const void *at) {
  char number[64] = "?";
  switch (dtype) {
    case TN_XLA_PRED:
      snprintf(number, sizeof number, *(const uint8_t *)at ? "true" : "false");
      break;
    NUMBER(TN_XLA_S8, int8_t, PRId8)
    NUMBER(TN_XLA_S16, int16_t, PRId16)
    NUMBER(TN_XLA_S32, int32_t, PRId32)
    NUMBER(TN_XLA_S64, int64_t, PRId64)
    NUMBER(TN_XLA_U8, uint8_t, PRIu8)
    NUMBER(TN_XLA_U16, uint16_t, PRIu16)
    NUMBER(TN_XLA_U32, uint32_t, PRIu32)
    NUMBER(TN_XLA_U64, uint64_t, PRIu64)
    NUMBER(TN_XLA_F32, float, ".9g")
    NUMBER(TN_XLA_F64, double, ".17g")
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

/* The result u8[n]: UTF-8, padded with zeroes. If n is too small, the error RESOURCE_EXHAUSTED says which size is
 * needed. */
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
    return tn_xla_fail(frame, TN_XLA_RESOURCE_EXHAUSTED, "the result must have %zu bytes, got %lld", text.needed,
                       (long long)out->dims[0]);
  memset(text.at, 0, text.left);
  return NULL;
}
TN_XLA_MARK_TYPED(describe_attrs);
