/* Kernels whose operands and results are strings, in each convention. */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/kernel.h>
#include <tenon/signature.h>
#include <tenon/tstring.h>
#include <tenon/tvm_dlpack.h>
#include <tenon/tvm_ffi.h>
#include <tenon/xla_handler.h>
#include <tenon/xla_mark.h>

#define EXPORT __attribute__((visibility("default")))

static void measure(const void *text, int64_t count, int32_t *sizes) {
  for (int64_t i = 0; i < count; i++) sizes[i] = (int32_t)tn_string_size((const tn_string_t *)text + i);
}

/* Writes each string twice, so that some become blocks of malloc(). */
static void repeat(const void *text, int64_t count, void *out) {
  for (int64_t i = 0; i < count; i++) {
    const tn_string_t *from = (const tn_string_t *)text + i;
    tn_string_t *to = (tn_string_t *)out + i;
    tn_string_append(to, tn_string_data(from), tn_string_size(from));
    tn_string_append(to, tn_string_data(from), tn_string_size(from));
  }
}

/* Takes the operand and the result of a call. False, and the error in the reader, for a call that is not one of these. */
static int take_two(tn_xla_reader_t *in, tn_xla_call_frame_t *frame, const tn_xla_buffer_t **x, tn_xla_buffer_t **y, int32_t result) {
  static const tn_xla_signature_t signature = {.minor = 1, .stage = TN_XLA_EXECUTE, .traits = 0, .args = 1, .rets = 1, .attrs = 0};
  if (!tn_xla_open(in, frame, &signature)) return 0;
  *x = tn_xla_arg(in, 0, TN_XLA_U8, TN_XLA_ANY);
  *y = tn_xla_ret(in, 0, result, TN_XLA_ANY);
  return tn_xla_complete(in);
}

TN_XLA_EXPORT tn_xla_error_t *sizes(tn_xla_call_frame_t *frame) {
  tn_xla_reader_t in;
  const tn_xla_buffer_t *text;
  tn_xla_buffer_t *out;
  if (!take_two(&in, frame, &text, &out, TN_XLA_S32)) return in.error;
  if (text->dims[text->rank - 1] != 24) return tn_xla_fail(frame, TN_XLA_INVALID_ARGUMENT, "24 bytes are expected");
  measure(text->data, tn_xla_element_count(out), out->data);
  return NULL;
}
TN_SIGNATURE(sizes, "(text: string[...shape]) -> (sizes: s32[...shape]) -- The size of each string in bytes.");

/* Writes strings of TensorFlow to structs of the RFC, which are of another form. */
TN_XLA_EXPORT tn_xla_error_t *confused(tn_xla_call_frame_t *frame) {
  tn_xla_reader_t in;
  const tn_xla_buffer_t *text;
  tn_xla_buffer_t *out;
  if (!take_two(&in, frame, &text, &out, TN_XLA_U8)) return in.error;
  repeat(text->data, text->dims[0], out->data);
  return NULL;
}
TN_SIGNATURE(confused, "(text: string[n]) -> (twice: string<rfc24>[n])");

/* The count of a TFLite buffer, and its size. */
TN_XLA_EXPORT tn_xla_error_t *lite(tn_xla_call_frame_t *frame) {
  tn_xla_reader_t in;
  const tn_xla_buffer_t *text;
  tn_xla_buffer_t *out;
  if (!take_two(&in, frame, &text, &out, TN_XLA_S32)) return in.error;
  int32_t *facts = out->data;
  memcpy(&facts[0], text->data, 4);
  facts[1] = (int32_t)text->dims[0];
  return NULL;
}
TN_SIGNATURE(lite, "(text: string<tflite>[n, m]) -> (facts: s32[2])");

TN_XLA_EXPORT tn_xla_error_t *twice(tn_xla_call_frame_t *frame) {
  tn_xla_reader_t in;
  const tn_xla_buffer_t *text;
  tn_xla_buffer_t *out;
  if (!take_two(&in, frame, &text, &out, TN_XLA_U8)) return in.error;
  repeat(text->data, tn_xla_element_count(out) / 24, out->data);
  return NULL;
}
TN_SIGNATURE(twice, "(text: string<tf>[...shape]) -> (twice: string<tf>[...shape])");

/* Writes blocks, and then fails. */
TN_XLA_EXPORT tn_xla_error_t *fail(tn_xla_call_frame_t *frame) {
  tn_xla_reader_t in;
  const tn_xla_buffer_t *text;
  tn_xla_buffer_t *out;
  if (!take_two(&in, frame, &text, &out, TN_XLA_U8)) return in.error;
  repeat(text->data, tn_xla_element_count(out) / 24, out->data);
  return tn_xla_fail(frame, TN_XLA_INTERNAL, "no luck");
}
TN_SIGNATURE(fail, "(text: string[n]) -> (out: string[n])");

/* Writes the bytes of its operand as elements of its result. */
TN_XLA_EXPORT tn_xla_error_t *forge(tn_xla_call_frame_t *frame) {
  tn_xla_reader_t in;
  const tn_xla_buffer_t *bytes;
  tn_xla_buffer_t *out;
  if (!take_two(&in, frame, &bytes, &out, TN_XLA_U8)) return in.error;
  memcpy(out->data, bytes->data, (size_t)tn_xla_element_count(out));
  return NULL;
}
TN_SIGNATURE(forge, "(bytes: u8[n, 24]) -> (out: string[n])");

/* Strings of the RFC, in which it writes only what fits into a struct. */
TN_XLA_EXPORT tn_xla_error_t *first16(tn_xla_call_frame_t *frame) {
  tn_xla_reader_t in;
  const tn_xla_buffer_t *text;
  tn_xla_buffer_t *out;
  if (!take_two(&in, frame, &text, &out, TN_XLA_U8)) return in.error;
  memcpy(out->data, text->data, (size_t)tn_xla_element_count(out));
  return NULL;
}
TN_SIGNATURE(first16, "(text: string<rfc16>[n]) -> (same: string<rfc16>[n])");

/* The low bits of the size of each string, without the type in the first byte. */
TN_XLA_EXPORT tn_xla_error_t *heads24(tn_xla_call_frame_t *frame) {
  tn_xla_reader_t in;
  const tn_xla_buffer_t *text;
  tn_xla_buffer_t *out;
  if (!take_two(&in, frame, &text, &out, TN_XLA_S32)) return in.error;
  for (int64_t i = 0; i < out->dims[0]; i++) ((int32_t *)out->data)[i] = ((const uint8_t *)text->data)[24 * i] >> 2;
  return NULL;
}
TN_SIGNATURE(heads24, "(text: string<rfc24>[n]) -> (heads: s32[n])");

/* The untyped conventions get the addresses alone, and the number of strings from a scalar. */
EXPORT void host_sizes(void *out, const void **in) { measure(in[0], *(const int64_t *)in[1], out); }
TN_XLA_MARK_HOST(host_sizes);
TN_SIGNATURE(host_sizes, "(text: string[n], count: s64) -> (sizes: s32[n])");

EXPORT void host_twice(void *out, const void **in) { repeat(in[0], *(const int64_t *)in[1], out); }
TN_XLA_MARK_HOST(host_twice);
TN_SIGNATURE(host_twice, "(text: string[n], count: s64) -> (twice: string[n])");

static const DLTensor *tensor_of(const TVMFFIAny *argument) {
  const char *at = argument->v_ptr;
  return (const DLTensor *)(const void *)(argument->type_index == kTVMFFITensor ? at + sizeof(TVMFFIObject) : at);
}

EXPORT int __tvm_ffi_packed_sizes(void *self, const TVMFFIAny *args, int32_t count, TVMFFIAny *result);
EXPORT int __tvm_ffi_packed_sizes(void *self, const TVMFFIAny *args, int32_t count, TVMFFIAny *result) {
  (void)self, (void)count, (void)result;
  const DLTensor *text = tensor_of(&args[0]), *out = tensor_of(&args[1]);
  if (text->ndim != 2 || text->shape[1] != 24 || text->dtype.code != kDLUInt || text->dtype.bits != 8) return -1;
  measure((const char *)text->data + text->byte_offset, text->shape[0], (void *)((char *)out->data + out->byte_offset));
  return 0;
}
TN_SIGNATURE(packed_sizes, "(text: string[n]) -> (sizes: s32[n])");

EXPORT int __tvm_ffi_packed_twice(void *self, const TVMFFIAny *args, int32_t count, TVMFFIAny *result);
EXPORT int __tvm_ffi_packed_twice(void *self, const TVMFFIAny *args, int32_t count, TVMFFIAny *result) {
  (void)self, (void)count, (void)result;
  const DLTensor *text = tensor_of(&args[0]), *out = tensor_of(&args[1]);
  repeat((const char *)text->data + text->byte_offset, text->shape[0], (char *)out->data + out->byte_offset);
  return 0;
}
TN_SIGNATURE(packed_twice, "(text: string[n]) -> (twice: string[n])");

/* Calls another handler with the operand and the result: with memory of its own, or with that of the call. */
TN_XLA_EXPORT tn_xla_error_t *pass_on(tn_xla_call_frame_t *frame) {
  static const tn_xla_signature_t signature = {.minor = 1, .stage = TN_XLA_EXECUTE, .traits = 0, .args = 1, .rets = 1, .attrs = 2};
  tn_xla_reader_t in;
  if (!tn_xla_open(&in, frame, &signature)) return in.error;
  const tn_xla_buffer_t *x = tn_xla_arg(&in, 0, TN_XLA_U8, TN_XLA_ANY);
  tn_xla_buffer_t *y = tn_xla_ret(&in, 0, TN_XLA_U8, TN_XLA_ANY);
  const int64_t address = tn_xla_attr_s64(&in, NULL, "handler");
  const int is_own = tn_xla_attr_pred(&in, NULL, "own");
  if (!tn_xla_complete(&in)) return in.error;
  tn_xla_handler_t *handler = NULL;
  memcpy(&handler, &address, sizeof handler);
  const size_t count = (size_t)tn_xla_element_count(y) / 24;
  tn_string_t *memory = calloc(2 * count + 1, sizeof *memory);
  if (memory == NULL) return tn_xla_fail(frame, TN_XLA_RESOURCE_EXHAUSTED, "out of memory");
  tn_xla_buffer_t from = *x, to = *y;
  if (is_own) {
    const tn_string_t *text = x->data;
    for (size_t i = 0; i < count; i++) tn_string_copy(&memory[i], tn_string_data(&text[i]), tn_string_size(&text[i]));
    /* The contents of results are undefined. */
    memset(memory + count, 0xa5, count * sizeof *memory);
    from.data = memory;
    to.data = memory + count;
  }
  void *operands[] = {&from}, *results[] = {&to};
  int32_t kinds[] = {TN_XLA_BUFFER};
  tn_xla_call_frame_t own = *frame;
  own.args.args = operands;
  own.args.types = kinds;
  own.rets.rets = results;
  own.rets.types = kinds;
  own.attrs = (tn_xla_attrs_t){sizeof own.attrs, NULL, 0, NULL, NULL, NULL};
  tn_xla_error_t *error = handler(&own);
  if (is_own) {
    if (error == NULL) memcpy(y->data, to.data, count * sizeof *memory);
    for (size_t i = 0; i < count; i++) tn_string_dealloc(&memory[i]);
  }
  free(memory);
  return error;
}
TN_SIGNATURE(pass_on, "(text: string[...shape]) -> (out: string[...shape]); handler: s64, own: pred");

/* The same for one buffer of bytes, whatever it is. */
TN_XLA_EXPORT tn_xla_error_t *pass_bytes(tn_xla_call_frame_t *frame) {
  static const tn_xla_signature_t signature = {.minor = 1, .stage = TN_XLA_EXECUTE, .traits = 0, .args = 1, .rets = 1, .attrs = 1};
  tn_xla_reader_t in;
  if (!tn_xla_open(&in, frame, &signature)) return in.error;
  const tn_xla_buffer_t *x = tn_xla_arg(&in, 0, TN_XLA_U8, TN_XLA_ANY);
  tn_xla_buffer_t *y = tn_xla_ret(&in, 0, TN_XLA_S32, TN_XLA_ANY);
  const int64_t address = tn_xla_attr_s64(&in, NULL, "handler");
  if (!tn_xla_complete(&in)) return in.error;
  tn_xla_handler_t *handler = NULL;
  memcpy(&handler, &address, sizeof handler);
  tn_xla_buffer_t from = *x, to = *y;
  void *operands[] = {&from}, *results[] = {&to};
  int32_t kinds[] = {TN_XLA_BUFFER};
  tn_xla_call_frame_t own = *frame;
  own.args.args = operands;
  own.args.types = kinds;
  own.rets.rets = results;
  own.rets.types = kinds;
  own.attrs = (tn_xla_attrs_t){sizeof own.attrs, NULL, 0, NULL, NULL, NULL};
  return handler(&own);
}
TN_SIGNATURE(pass_bytes, "(bytes: u8[...any]) -> (out: s32[1]); handler: s64");

/* Calls a packed function with a tensor, and returns what it returns. */
EXPORT int __tvm_ffi_apply(void *self, const TVMFFIAny *args, int32_t count, TVMFFIAny *result);
EXPORT int __tvm_ffi_apply(void *self, const TVMFFIAny *args, int32_t count, TVMFFIAny *result) {
  (void)self;
  if (count != 2) return -1;
  TVMFFIAny value = args[1];
  return TVMFFIFunctionCall(args[0].v_obj, &value, 1, result);
}

/* Writes bytes over those of a tensor, and returns it. */
EXPORT int __tvm_ffi_overwrite(void *self, const TVMFFIAny *args, int32_t count, TVMFFIAny *result);
EXPORT int __tvm_ffi_overwrite(void *self, const TVMFFIAny *args, int32_t count, TVMFFIAny *result) {
  (void)self, (void)count;
  const DLTensor *text = tensor_of(&args[0]);
  *result = args[0];
  TVMFFIObjectIncRef(args[0].v_obj);
  memset((char *)text->data + text->byte_offset, (int)args[1].v_int64, (size_t)text->shape[0] * 24);
  return 0;
}

/* The bytes of malloc() that are in use. */
EXPORT void allocated(void *out, const void **in) {
  (void)in;
  const struct mallinfo2 info = mallinfo2();
  const int64_t bytes = (int64_t)(info.uordblks + info.hblkhd);
  memcpy(out, &bytes, sizeof bytes);
}
TN_XLA_MARK_HOST(allocated);
TN_SIGNATURE(allocated, "() -> (bytes: s64)");
