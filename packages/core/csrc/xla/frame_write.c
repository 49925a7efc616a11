/* Writes a frame as bytes, so that JavaScript can read it in one step. The frame may come from any runtime, so its
 * counts and pointers are checked before they are used. */
#include "tenon/xla_handler.h"
#include "internal.h"

#define MOST 65536   /* buffers, attributes of one dictionary */
#define HIGHEST_RANK 64
#define LONGEST ((size_t)1 << 30)

/* The output. Bytes after the capacity are only counted. */
typedef struct {
  uint8_t *out;
  size_t capacity;
  size_t used;
} sink_t;

/* Writes bytes and pads them to a multiple of 8. */
static void put(sink_t *sink, const void *bytes, size_t size) {
  const size_t padded = (size + 7) & ~(size_t)7;
  if (sink->used + padded <= sink->capacity) {
    if (size > 0) memcpy(sink->out + sink->used, bytes, size);
    memset(sink->out + sink->used + size, 0, padded - size);
  }
  sink->used += padded;
}

static void put_u32s(sink_t *sink, uint32_t first, uint32_t second) {
  const uint32_t pair[2] = {first, second};
  put(sink, pair, sizeof pair);
}

static void put_u64(sink_t *sink, uint64_t value) { put(sink, &value, sizeof value); }

static int32_t wrong(const char *what) { return tn__fail(TN_INVALID_ARGUMENT, "the call frame has %s", what); }

static int32_t write_buffers(sink_t *sink, int64_t count, const int32_t *kinds, void *const *buffers) {
  for (int64_t i = 0; i < count; i++) {
    const tn_xla_buffer_t *buffer = kinds[i] == TN_XLA_BUFFER ? buffers[i] : NULL;
    if (buffer == NULL) return wrong("an operand or result that is not a buffer");
    if (buffer->rank < 0 || buffer->rank > HIGHEST_RANK || (buffer->rank > 0 && buffer->dims == NULL))
      return wrong("a buffer without a shape");
    put_u32s(sink, (uint32_t)buffer->dtype, (uint32_t)buffer->rank);
    put_u64(sink, (uint64_t)(uintptr_t)buffer->data);
    put(sink, buffer->dims, (size_t)buffer->rank * sizeof *buffer->dims);
  }
  return TN_OK;
}

static int32_t write_attrs(sink_t *sink, const tn_xla_attrs_t *attrs, int depth);

static int32_t write_array(sink_t *sink, const tn_xla_array_t *array) {
  const size_t size = tn_xla_dtype_size(array->dtype);
  if (size == 0 || array->size > LONGEST / size || (array->size > 0 && array->data == NULL))
    return wrong("an array attribute without elements");
  put_u32s(sink, (uint32_t)array->dtype, 0);
  put_u64(sink, array->size);
  put(sink, array->data, array->size * size);
  return TN_OK;
}

static int32_t write_value(sink_t *sink, int32_t kind, const void *value, int depth) {
  if (kind == TN_XLA_ARRAY) return write_array(sink, value);
  if (kind == TN_XLA_DICTIONARY) {
    const tn_xla_attrs_t *attrs = value;
    if (attrs->size < 0 || attrs->size > MOST) return wrong("too many attributes");
    put_u32s(sink, (uint32_t)attrs->size, 0);
    return write_attrs(sink, attrs, depth + 1);
  }
  if (kind == TN_XLA_SCALAR) {
    const tn_xla_scalar_t *scalar = value;
    const size_t size = tn_xla_dtype_size(scalar->dtype);
    if (size == 0 || scalar->value == NULL) return wrong("a scalar attribute without a value");
    put_u32s(sink, (uint32_t)scalar->dtype, (uint32_t)size);
    put(sink, scalar->value, size);
    return TN_OK;
  }
  const tn_xla_span_t *string = value;
  if (kind != TN_XLA_STRING) return wrong("an attribute of an unknown kind");
  if (string->len > LONGEST || (string->len > 0 && string->ptr == NULL))
    return wrong("a string attribute without bytes");
  put_u64(sink, string->len);
  put(sink, string->ptr, string->len);
  return TN_OK;
}

static int32_t write_attrs(sink_t *sink, const tn_xla_attrs_t *attrs, int depth) {
  if (depth > TN_XLA_DEEPEST) return wrong("dictionaries that are nested too deep");
  for (int64_t i = 0; i < attrs->size; i++) {
    const tn_xla_span_t *name = attrs->names[i];
    if (name == NULL || name->ptr == NULL || name->len > LONGEST || attrs->attrs[i] == NULL)
      return wrong("an attribute without a name or a value");
    put_u32s(sink, (uint32_t)attrs->types[i], (uint32_t)name->len);
    put(sink, name->ptr, name->len);
    TN_TRY(write_value(sink, attrs->types[i], attrs->attrs[i], depth));
  }
  return TN_OK;
}

int32_t tn__xla_frame_write(const tn_xla_call_frame_t *frame, void *out, size_t capacity, size_t *length) {
  const int64_t counts[] = {frame->args.size, frame->rets.size, frame->attrs.size};
  for (int i = 0; i < 3; i++)
    if (counts[i] < 0 || counts[i] > MOST) return wrong("an impossible number of operands, results or attributes");
  sink_t sink = {out, capacity, 0};
  put_u32s(&sink, (uint32_t)counts[0], (uint32_t)counts[1]);
  put_u32s(&sink, (uint32_t)counts[2], 0);
  TN_TRY(write_buffers(&sink, counts[0], frame->args.types, frame->args.args));
  TN_TRY(write_buffers(&sink, counts[1], frame->rets.types, frame->rets.rets));
  TN_TRY(write_attrs(&sink, &frame->attrs, 0));
  *length = sink.used;
  return TN_OK;
}
