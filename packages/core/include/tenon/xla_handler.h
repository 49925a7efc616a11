/* Inline helpers for writing typed XLA custom calls in C or C++.
 *
 * A handler opens a reader on its frame, takes its operands, results and attributes with their exact types, and then
 * asks once whether all of them were valid. All problems are reported in one INVALID_ARGUMENT error.
 *
 * Example: y = a * x, f32 of any rank.
 *
 *   #include <tenon/xla_handler.h>
 *   #include <tenon/xla_mark.h>
 *
 *   TN_XLA_EXPORT tn_xla_error_t *scale(tn_xla_call_frame_t *frame) {
 *     static const tn_xla_signature_t signature = {.minor = 1, .stage = TN_XLA_EXECUTE, .traits = 0,
 *                                                  .args = 1, .rets = 1, .attrs = 1};
 *     tn_xla_reader_t in;
 *     if (!tn_xla_open(&in, frame, &signature)) return in.error;
 *     const tn_xla_buffer_t *x = tn_xla_arg(&in, 0, TN_XLA_F32, TN_XLA_ANY);
 *     tn_xla_buffer_t *y = tn_xla_ret(&in, 0, TN_XLA_F32, TN_XLA_ANY);
 *     const float a = tn_xla_attr_f32(&in, NULL, "a");
 *     if (!tn_xla_complete(&in)) return in.error;
 *     if (!tn_xla_same_shape(x, y)) return tn_xla_fail(frame, TN_XLA_INVALID_ARGUMENT, "x and y must have one shape");
 *     const int64_t count = tn_xla_element_count(x);
 *     for (int64_t i = 0; i < count; ++i) ((float *)y->data)[i] = a * ((const float *)x->data)[i];
 *     return NULL;
 *   }
 *   TN_XLA_MARK_TYPED(scale);
 *
 * To compile it (these headers are in packages/core/include or node_modules/@tenon/core/include) and to call it:
 *
 *   gcc -O2 -shared -fPIC -I packages/core/include -o libscale.so scale.c -lm
 *   tenon call libscale.so scale --arg x.npy --attr a=f32:2 --result 'f32[2,4]'
 */
#ifndef TENON_XLA_HANDLER_H
#define TENON_XLA_HANDLER_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "xla_ffi.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__MINGW_PRINTF_FORMAT)
/* The format of the C library's vsnprintf(). In gcc for Windows, `printf` means the format of the old runtime. */
#define TN_XLA_PRINTF(format_index, first) __attribute__((format(__MINGW_PRINTF_FORMAT, format_index, first)))
#elif defined(__GNUC__)
#define TN_XLA_PRINTF(format_index, first) __attribute__((format(printf, format_index, first)))
#else
#define TN_XLA_PRINTF(format_index, first)
#endif

/* Any count, dtype or rank is accepted. */
#define TN_XLA_ANY (-1)

/* The declaration of a handler: the minor version whose structs it uses, its stage and traits, and the numbers of its
 * operands, results and attributes (TN_XLA_ANY for any number). */
typedef struct tn_xla_signature {
  int32_t minor;
  int32_t stage;
  uint32_t traits;
  int64_t args;
  int64_t rets;
  int64_t attrs;
} tn_xla_signature_t;

/* A reader of one frame, on the stack of the handler. */
typedef struct tn_xla_reader {
  tn_xla_call_frame_t *frame;
  tn_xla_error_t *error; /* the result of the handler when tn_xla_open() or tn_xla_complete() fails */
  int bound;             /* the number of operands, results and attributes that were taken */
  int bad;               /* the number of those that were invalid */
  int nested;            /* the number of taken attributes that were members of dictionaries */
  int takes_all;         /* whether tn_xla_complete() refuses a call with more than the handler took */
  uint64_t attrs_taken;  /* bit i: attribute i of the frame was taken; the first 64 */
  size_t indices_length;
  size_t reasons_length;
  char indices[64];  /* "0, 3" */
  char reasons[448]; /* a line for each problem */
} tn_xla_reader_t;

/* Creates an error (printf-like, at most 1023 bytes), which the handler returns to the runtime. */
TN_XLA_PRINTF(3, 4)
static inline tn_xla_error_t *tn_xla_fail(tn_xla_call_frame_t *frame, int32_t code, const char *format, ...) {
  char message[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  tn_xla_error_create_args_t args = {TN_XLA_SIZE_ERROR_CREATE, NULL, message, code};
  return frame->api->error_create(&args);
}

static inline const char *tn_xla_stage_name(int32_t stage) {
  static const char *const names[] = {"instantiate", "prepare", "initialize", "execute", "record"};
  return stage >= 0 && stage <= TN_XLA_RECORD ? names[stage] : "unknown";
}

static inline const char *tn_xla_dtype_name(int32_t dtype) {
  switch (dtype) {
#define TN_XLA_DTYPE_NAME(name, value, bytes) \
  case value:                                 \
    return #name;
    TN_XLA_DTYPES(TN_XLA_DTYPE_NAME)
#undef TN_XLA_DTYPE_NAME
    default:
      return "unknown";
  }
}

/* The bytes of one element; 0 for TOKEN, INVALID and values outside the table. */
static inline size_t tn_xla_dtype_size(int32_t dtype) {
  switch (dtype) {
#define TN_XLA_DTYPE_SIZE(name, value, bytes) \
  case value:                                 \
    return bytes;
    TN_XLA_DTYPES(TN_XLA_DTYPE_SIZE)
#undef TN_XLA_DTYPE_SIZE
    default:
      return 0;
  }
}

static inline int64_t tn_xla_element_count(const tn_xla_buffer_t *buffer) {
  int64_t count = 1;
  for (int64_t i = 0; i < buffer->rank; ++i) count *= buffer->dims[i];
  return count;
}

/* The size of the last axis; 1 for a scalar. */
static inline int64_t tn_xla_last_size(const tn_xla_buffer_t *buffer) {
  return buffer->rank == 0 ? 1 : buffer->dims[buffer->rank - 1];
}

static inline int tn_xla_same_shape(const tn_xla_buffer_t *a, const tn_xla_buffer_t *b) {
  if (a->rank != b->rank) return 0;
  for (int64_t i = 0; i < a->rank; ++i) {
    if (a->dims[i] != b->dims[i]) return 0;
  }
  return 1;
}

static inline void tn_xla_answer_metadata(tn_xla_call_frame_t *frame, int32_t minor, uint32_t traits) {
  tn_xla_metadata_t *metadata = ((tn_xla_metadata_extension_t *)(void *)frame->extension_start)->metadata;
  metadata->api_version.struct_size = sizeof(tn_xla_api_version_t);
  metadata->api_version.extension_start = NULL;
  metadata->api_version.major_version = 0;
  metadata->api_version.minor_version = minor;
  metadata->traits = traits;
  if (minor >= 2) metadata->state_type_id.type_id = 0;
}

static inline int tn_xla_check_count(tn_xla_reader_t *in, const char *what, int64_t expected, int64_t actual) {
  if (expected == TN_XLA_ANY || expected == actual) return 1;
  in->error = tn_xla_fail(in->frame, TN_XLA_INVALID_ARGUMENT, "[%s] Wrong number of %s: expected %lld but got %lld",
                          tn_xla_stage_name(in->frame->stage), what, (long long)expected, (long long)actual);
  return 0;
}

static inline int tn_xla_check_attr_count(tn_xla_reader_t *in, int64_t expected) {
  const tn_xla_attrs_t *attrs = &in->frame->attrs;
  if (expected == TN_XLA_ANY || expected == attrs->size) return 1;
  char names[512] = "";
  size_t length = 0;
  for (int64_t i = 0; i < attrs->size && length < sizeof names; ++i) {
    length += (size_t)snprintf(names + length, sizeof names - length, "%s%.*s", i == 0 ? " with name(s): " : ", ",
                               (int)attrs->names[i]->len, attrs->names[i]->ptr);
  }
  in->error = tn_xla_fail(in->frame, TN_XLA_INVALID_ARGUMENT,
                          "[%s] Wrong number of attributes: expected %lld but got %lld%s",
                          tn_xla_stage_name(in->frame->stage), (long long)expected, (long long)attrs->size, names);
  return 0;
}

/* Opens a reader: checks the frame, answers a metadata query, and checks the stage and the counts. After 0 the handler
 * returns in->error, which is null after a metadata query. */
static inline int tn_xla_open(tn_xla_reader_t *in, tn_xla_call_frame_t *frame, const tn_xla_signature_t *signature) {
  in->frame = frame;
  in->error = NULL;
  in->bound = in->bad = in->nested = in->takes_all = 0;
  in->attrs_taken = 0;
  in->indices_length = in->reasons_length = 0;
  if (frame->struct_size != TN_XLA_SIZE_CALL_FRAME) {
    in->error = tn_xla_fail(frame, TN_XLA_INVALID_ARGUMENT, "Unexpected XLA_FFI_CallFrame size: expected %d got %zu",
                            TN_XLA_SIZE_CALL_FRAME, frame->struct_size);
    return 0;
  }
  if (frame->extension_start != NULL && frame->extension_start->type == TN_XLA_EXTENSION_METADATA) {
    tn_xla_answer_metadata(frame, signature->minor, signature->traits);
    return 0;
  }
  if (frame->stage != signature->stage) {
    in->error = tn_xla_fail(frame, TN_XLA_INVALID_ARGUMENT, "Wrong execution stage: expected `%s` but got `%s`",
                            tn_xla_stage_name(signature->stage), tn_xla_stage_name(frame->stage));
    return 0;
  }
  return tn_xla_check_count(in, "arguments", signature->args, frame->args.size) &&
         tn_xla_check_count(in, "results", signature->rets, frame->rets.size) &&
         tn_xla_check_attr_count(in, signature->attrs);
}

/* Reports a problem of the last operand, result or attribute. */
TN_XLA_PRINTF(2, 3) static inline void tn_xla_note(tn_xla_reader_t *in, const char *format, ...) {
  if (in->indices_length < sizeof in->indices) {
    in->indices_length += (size_t)snprintf(in->indices + in->indices_length, sizeof in->indices - in->indices_length,
                                           in->bad == 0 ? "%d" : ", %d", in->bound - 1);
  }
  if (in->bad++ > 0 && in->reasons_length < sizeof in->reasons - 1) {
    in->reasons[in->reasons_length++] = '\n';
    in->reasons[in->reasons_length] = '\0';
  }
  if (in->reasons_length < sizeof in->reasons) {
    va_list arguments;
    va_start(arguments, format);
    in->reasons_length += (size_t)vsnprintf(in->reasons + in->reasons_length, sizeof in->reasons - in->reasons_length,
                                            format, arguments);
    va_end(arguments);
  }
}

static inline tn_xla_buffer_t *tn_xla_check_buffer(tn_xla_reader_t *in, const char *what, int64_t index, int64_t size,
                                                   const int32_t *types, void **values, int32_t dtype, int64_t rank) {
  ++in->bound;
  if (index >= size || types[index] != TN_XLA_BUFFER) {
    tn_xla_note(in, "Wrong %s type: expected buffer", what);
    return NULL;
  }
  tn_xla_buffer_t *buffer = (tn_xla_buffer_t *)values[index];
  if (dtype != TN_XLA_ANY && buffer->dtype != dtype) {
    tn_xla_note(in, "Wrong buffer dtype: expected %s but got %s", tn_xla_dtype_name(dtype),
                tn_xla_dtype_name(buffer->dtype));
  } else if (rank != TN_XLA_ANY && buffer->rank != rank) {
    tn_xla_note(in, "Wrong buffer rank: expected %lld but got %lld", (long long)rank, (long long)buffer->rank);
  }
  return buffer;
}

/* Takes operand `index`, whose data is read-only. Null if it is missing or invalid. */
static inline const tn_xla_buffer_t *tn_xla_arg(tn_xla_reader_t *in, int64_t index, int32_t dtype, int64_t rank) {
  const tn_xla_args_t *args = &in->frame->args;
  return tn_xla_check_buffer(in, "argument", index, args->size, args->types, args->args, dtype, rank);
}

/* Takes result `index`, whose data is undefined until the handler writes it. Null if it is missing or invalid. */
static inline tn_xla_buffer_t *tn_xla_ret(tn_xla_reader_t *in, int64_t index, int32_t dtype, int64_t rank) {
  const tn_xla_rets_t *rets = &in->frame->rets;
  return tn_xla_check_buffer(in, "result", index, rets->size, rets->types, rets->rets, dtype, rank);
}

/* Takes result `index`, which must have the element type and the shape of `like`. Null if it is missing. */
static inline tn_xla_buffer_t *tn_xla_ret_like(tn_xla_reader_t *in, int64_t index, const tn_xla_buffer_t *like) {
  if (like == NULL) return tn_xla_ret(in, index, TN_XLA_ANY, TN_XLA_ANY);
  tn_xla_buffer_t *buffer = tn_xla_ret(in, index, like->dtype, like->rank);
  if (buffer == NULL || buffer->dtype != like->dtype || buffer->rank != like->rank) return buffer;
  if (!tn_xla_same_shape(buffer, like)) tn_xla_note(in, "Wrong buffer shape: expected the shape of the argument");
  return buffer;
}

/* Returns the value of an attribute of a kind, or null. `attrs` is a dictionary, or null for the attributes of the
 * frame. */
static inline void *tn_xla_attr(tn_xla_reader_t *in, const tn_xla_attrs_t *attrs, const char *name, int32_t kind) {
  static const char *const kinds[] = {"unknown", "array", "dictionary", "scalar", "string"};
  if (attrs == NULL) {
    attrs = &in->frame->attrs;
  } else {
    ++in->nested;
  }
  ++in->bound;
  const size_t length = strlen(name);
  for (int64_t low = 0, high = attrs->size; low < high;) {
    const int64_t middle = low + (high - low) / 2;
    const tn_xla_span_t *found = attrs->names[middle];
    int order = memcmp(name, found->ptr, length < found->len ? length : found->len);
    if (order == 0) order = (length > found->len) - (length < found->len);
    if (order < 0) {
      high = middle;
    } else if (order > 0) {
      low = middle + 1;
    } else if (attrs->types[middle] == kind) {
      if (attrs == &in->frame->attrs && middle < 64) in->attrs_taken |= (uint64_t)1 << middle;
      return attrs->attrs[middle];
    } else {
      const int32_t actual = attrs->types[middle];
      tn_xla_note(in, "Wrong attribute type: expected %s but got %s (attribute %s)", kinds[kind],
                  actual >= TN_XLA_ARRAY && actual <= TN_XLA_STRING ? kinds[actual] : kinds[0], name);
      return NULL;
    }
  }
  tn_xla_note(in, "Missing attribute: %s", name);
  return NULL;
}

static inline const void *tn_xla_attr_scalar(tn_xla_reader_t *in, const tn_xla_attrs_t *attrs, const char *name,
                                             int32_t dtype) {
  const tn_xla_scalar_t *scalar = (const tn_xla_scalar_t *)tn_xla_attr(in, attrs, name, TN_XLA_SCALAR);
  if (scalar == NULL) return NULL;
  if (scalar->dtype == dtype) return scalar->value;
  tn_xla_note(in, "Wrong scalar data type: expected %s but got %s (attribute %s)", tn_xla_dtype_name(dtype),
              tn_xla_dtype_name(scalar->dtype), name);
  return NULL;
}

/* tn_xla_attr_f32(&in, attrs, "eps") and the functions for other types take a scalar of exactly this type. 0 if it is
 * missing. */
#define TN_XLA_SCALAR_READER(suffix, type, dtype)                                                            \
  static inline type tn_xla_attr_##suffix(tn_xla_reader_t *in, const tn_xla_attrs_t *attrs, const char *name) { \
    type value = 0;                                                                                          \
    const void *bytes = tn_xla_attr_scalar(in, attrs, name, dtype);                                          \
    if (bytes != NULL) memcpy(&value, bytes, sizeof value);                                                  \
    return value;                                                                                            \
  }
TN_XLA_SCALAR_READER(pred, uint8_t, TN_XLA_PRED)
TN_XLA_SCALAR_READER(s8, int8_t, TN_XLA_S8)
TN_XLA_SCALAR_READER(s16, int16_t, TN_XLA_S16)
TN_XLA_SCALAR_READER(s32, int32_t, TN_XLA_S32)
TN_XLA_SCALAR_READER(s64, int64_t, TN_XLA_S64)
TN_XLA_SCALAR_READER(u8, uint8_t, TN_XLA_U8)
TN_XLA_SCALAR_READER(u16, uint16_t, TN_XLA_U16)
TN_XLA_SCALAR_READER(u32, uint32_t, TN_XLA_U32)
TN_XLA_SCALAR_READER(u64, uint64_t, TN_XLA_U64)
TN_XLA_SCALAR_READER(f32, float, TN_XLA_F32)
TN_XLA_SCALAR_READER(f64, double, TN_XLA_F64)
#undef TN_XLA_SCALAR_READER

/* Takes an array of exactly this element type, borrowed for the call. Empty if it is missing. */
static inline tn_xla_array_t tn_xla_attr_array(tn_xla_reader_t *in, const tn_xla_attrs_t *attrs, const char *name,
                                               int32_t dtype) {
  tn_xla_array_t none = {dtype, 0, NULL};
  const tn_xla_array_t *array = (const tn_xla_array_t *)tn_xla_attr(in, attrs, name, TN_XLA_ARRAY);
  if (array == NULL) return none;
  if (array->dtype == dtype) return *array;
  tn_xla_note(in, "Wrong array data type: expected %s but got %s (attribute %s)", tn_xla_dtype_name(dtype),
              tn_xla_dtype_name(array->dtype), name);
  return none;
}

/* Takes a string (any bytes, not NUL-terminated), borrowed for the call. Empty if it is missing. */
static inline tn_xla_span_t tn_xla_attr_string(tn_xla_reader_t *in, const tn_xla_attrs_t *attrs, const char *name) {
  tn_xla_span_t none = {"", 0};
  const tn_xla_span_t *string = (const tn_xla_span_t *)tn_xla_attr(in, attrs, name, TN_XLA_STRING);
  return string == NULL ? none : *string;
}

/* Takes a dictionary of attributes. Null if it is missing, so call tn_xla_complete() before reading from it. */
static inline const tn_xla_attrs_t *tn_xla_attr_dictionary(tn_xla_reader_t *in, const tn_xla_attrs_t *attrs,
                                                           const char *name) {
  return (const tn_xla_attrs_t *)tn_xla_attr(in, attrs, name, TN_XLA_DICTIONARY);
}

/* Whether the caller of this call has cancelled it, or its deadline has passed, so that the kernel should end soon, for
 * example with the code TN_XLA_CANCELLED. Only calls in a process of their own (tenon-host) can be cancelled, and only on
 * systems with ELF; in the process of the caller it is always 0. It may be called on any thread, and costs as much as
 * reading the clock. */
#if defined(__ELF__)
extern __attribute__((weak)) int32_t tn_host_is_cancelled(void);
static inline int tn_cancelled(void) { return tn_host_is_cancelled != NULL && tn_host_is_cancelled() != 0; }
#else
static inline int tn_cancelled(void) { return 0; }
#endif

/* Refuses a call with operands, results or attributes that the handler has not taken, and names the first such attribute. */
static inline int tn_xla_refuse_rest(tn_xla_reader_t *in) {
  const tn_xla_call_frame_t *frame = in->frame;
  int64_t rest = 0;
  while (rest < frame->attrs.size && rest < 64 && (in->attrs_taken >> rest & 1) != 0) ++rest;
  const int is_named = rest < frame->attrs.size && rest < 64;
  const tn_xla_span_t none = {"", 0}, *name = is_named ? frame->attrs.names[rest] : &none;
  in->error = tn_xla_fail(in->frame, TN_XLA_INVALID_ARGUMENT,
                          "[%s] Wrong number of arguments, results and attributes: expected %d in total but got "
                          "%lld, %lld and %lld%s%.*s%s. Those that are taken after tn_xla_complete() do not count",
                          tn_xla_stage_name(frame->stage), in->bound - in->nested, (long long)frame->args.size,
                          (long long)frame->rets.size, (long long)frame->attrs.size,
                          is_named ? ", and the attribute " : "", (int)name->len, name->ptr,
                          is_named ? " was not taken" : "");
  return 0;
}

/* Returns whether everything that was taken is valid. After 0 the handler returns in->error. A handler takes its attributes
 * before, because those that are taken later do not count. */
static inline int tn_xla_complete(tn_xla_reader_t *in) {
  const tn_xla_call_frame_t *frame = in->frame;
  const int64_t given = frame->args.size + frame->rets.size + frame->attrs.size;
  if (in->bad == 0 && in->takes_all && given != in->bound - in->nested) return tn_xla_refuse_rest(in);
  if (in->bad == 0) return 1;
  in->error = tn_xla_fail(in->frame, TN_XLA_INVALID_ARGUMENT,
                          "[%s] Failed to decode all FFI handler operands (bad operands at: %s)\nDiagnostics:\n%s",
                          tn_xla_stage_name(in->frame->stage), in->indices, in->reasons);
  return 0;
}

#ifdef __cplusplus
}
#endif
#endif
