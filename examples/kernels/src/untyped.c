/* Untyped custom calls of every convention. They cannot check their buffers, so the caller must pass correct ones. */
#include <stdint.h>
#include <string.h>

#include <tenon/xla_custom_call.h>
#include <tenon/xla_mark.h>

/* STATUS_RETURNING on the Host: s32[] from two s32[]. Fails if the sum overflows. */
TN_XLA_EXPORT void checked_add(void *out, const void **in, XlaCustomCallStatus *status) {
  static const char overflow[] = "the sum does not fit into 32 bits";
  if (__builtin_add_overflow(*(const int *)in[0], *(const int *)in[1], (int *)out))
    XlaCustomCallStatusSetFailure(status, overflow, sizeof overflow - 1);
}
TN_XLA_MARK_HOST_STATUS(checked_add);

/* UNIFIED on the Host: writes the bytes of `opaque` and their number to the result (u8[n], s64[]). */
TN_XLA_EXPORT void copy_opaque(void *out, const void **in, const char *opaque, size_t opaque_length,
                               XlaCustomCallStatus *status) {
  (void)in, (void)status;
  void **parts = out;
  const int64_t length = (int64_t)opaque_length;
  if (opaque_length > 0) memcpy(parts[0], opaque, opaque_length);
  memcpy(parts[1], &length, sizeof length);
}
TN_XLA_MARK_HOST_UNIFIED(copy_opaque);

/* UNIFIED on the Host: sets its status for each byte of `opaque`. F is a failure with all of `opaque` as its message, E
 * is a failure with an empty message, and S is success. */
TN_XLA_EXPORT void set_status(void *out, const void **in, const char *opaque, size_t opaque_length,
                              XlaCustomCallStatus *status) {
  (void)out, (void)in;
  for (size_t i = 0; i < opaque_length; i++) {
    if (opaque[i] == 'F') XlaCustomCallStatusSetFailure(status, opaque, opaque_length);
    if (opaque[i] == 'E') XlaCustomCallStatusSetFailure(status, "", 0);
    if (opaque[i] == 'S') XlaCustomCallStatusSetSuccess(status);
  }
}
TN_XLA_MARK_HOST_UNIFIED(set_status);

static void total_and_first(const float *const leaves[4], float *totals, float *firsts) {
  static const int sizes[4] = {32, 64, 128, 256};
  memset(totals, 0, 512 * sizeof *totals);
  memset(firsts, 0, 1024 * sizeof *firsts);
  for (int k = 0; k < 4; k++) {
    firsts[k] = leaves[k][0];
    for (int i = 0; i < sizes[k]; i++) totals[k] += leaves[k][i];
  }
}

/* ORIGINAL on the Host, with nested tuples: the operand is (f32[32], (f32[64], f32[128]), f32[256]), and the result is
 * (f32[512], f32[1024]): the sums and the first elements of the leaves, then zeroes. */
TN_XLA_EXPORT void nested_sums(void *out, const void **in) {
  const void *const *operand = in[0];
  const void *const *inner = operand[1];
  const float *const leaves[4] = {operand[0], inner[0], inner[1], operand[2]};
  void *const *results = out;
  total_and_first(leaves, results[0], results[1]);
}
TN_XLA_MARK_HOST(nested_sums);

/* nested_sums with flattened tuples, as XLA passes them today. */
TN_XLA_EXPORT void flattened_sums(void *out, const void **in) {
  const float *const leaves[4] = {in[0], in[1], in[2], in[3]};
  void *const *results = out;
  total_and_first(leaves, results[0], results[1]);
}
TN_XLA_MARK_HOST(flattened_sums);

/* ORIGINAL on devices: nested_sums with all leaves in one array. */
TN_XLA_EXPORT void device_sums(void *stream, void **buffers, const char *opaque, size_t opaque_length) {
  (void)stream, (void)opaque, (void)opaque_length;
  const float *const leaves[4] = {buffers[0], buffers[1], buffers[2], buffers[3]};
  total_and_first(leaves, buffers[4], buffers[5]);
}

/* UNIFIED on devices: writes the address of the stream and the number of bytes of `opaque` to s64[2]. Fails with
 * `opaque` as the message if it starts with "fail". */
TN_XLA_EXPORT void device_facts(void *stream, void **buffers, const char *opaque, size_t opaque_length,
                                XlaCustomCallStatus *status) {
  const int64_t facts[2] = {(int64_t)(size_t)stream, (int64_t)opaque_length};
  memcpy(buffers[0], facts, sizeof facts);
  if (opaque_length >= 4 && memcmp(opaque, "fail", 4) == 0)
    XlaCustomCallStatusSetFailure(status, opaque, opaque_length);
}

/* ORIGINAL on devices: writes a byte for each of its `opaque_length` buffers, 1 for a null pointer, to the last
 * buffer. */
TN_XLA_EXPORT void device_nulls(void *stream, void **buffers, const char *opaque, size_t opaque_length) {
  (void)stream, (void)opaque;
  unsigned char *nulls = buffers[opaque_length - 1];
  for (size_t i = 0; i < opaque_length; i++) nulls[i] = buffers[i] == NULL;
}

/* UNIFIED on the Host: reverses the operand s32[4] through the scratch part of the result (s32[4], scratch s32[4]). If
 * `opaque` is "again", uses the content that the previous run left in the scratch. */
TN_XLA_EXPORT void reverse_by_scratch(void *out, const void **in, const char *opaque, size_t opaque_length,
                                      XlaCustomCallStatus *status) {
  static const char unaligned[] = "the scratch is not aligned to 64 bytes";
  void *const *parts = out;
  int *scratch = parts[1];
  if ((size_t)scratch % 64 != 0) XlaCustomCallStatusSetFailure(status, unaligned, sizeof unaligned - 1);
  if (opaque_length != 5 || memcmp(opaque, "again", 5) != 0) memcpy(scratch, in[0], 4 * sizeof *scratch);
  for (int i = 0; i < 4; i++) ((int *)parts[0])[i] = scratch[3 - i];
}
TN_XLA_MARK_HOST_UNIFIED(reverse_by_scratch);

/* ORIGINAL on the Host: adds one to each element of s32[4]. The operand and the result may be the same memory. */
TN_XLA_EXPORT void increment(void *out, const void **in) {
  for (int i = 0; i < 4; i++) ((int *)out)[i] = ((const int *)in[0])[i] + 1;
}
TN_XLA_MARK_HOST(increment);
