/* Text as vectors: log(1 + frequency) of each sequence of three letters, hashed into a fixed number of buckets (the hashing
 * trick: Weinberger and others, "Feature hashing for large scale multitask learning", 2009). */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include <tenon/tvm_ffi.h>

enum { STRUCT_SIZE = 24 };

typedef struct {
  const uint8_t *bytes;
  uint64_t size;
} text_t;

/* Reads a TF_TString of 24 bytes. The lowest two bits are the place of the bytes, and the others their number. */
static text_t read_text(const uint8_t *at) {
  uint64_t size;
  uint32_t small_size, offset;
  text_t text;
  switch (at[0] & 3) {
    case 0: /* in the struct itself */
      return (text_t){at + 1, at[0] >> 2};
    case 2: /* at an offset from the start of the struct */
      memcpy(&small_size, at, sizeof small_size);
      memcpy(&offset, at + 4, sizeof offset);
      return (text_t){at + offset, small_size >> 2};
    default: /* at an address, which follows the capacity of a LARGE and the size of a VIEW */
      memcpy(&size, at, sizeof size);
      memcpy(&text.bytes, at + ((at[0] & 3) == 1 ? 16 : 8), sizeof text.bytes);
      text.size = size >> 2;
      return text;
  }
}

/* Converts letters and digits to lower case, and any other byte to a separator of words. */
static uint32_t letter(uint8_t byte) {
  if (byte >= 'A' && byte <= 'Z') return byte + ('a' - 'A');
  if ((byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte >= 0x80) return byte;
  return ' ';
}

static void count_sequences(text_t text, float *counts, uint32_t buckets) {
  uint32_t sequence = ' ';
  for (uint64_t i = 0; i <= text.size; i++) {
    const uint32_t next = i == text.size ? ' ' : letter(text.bytes[i]);
    if (next == ' ' && (sequence & 0xff) == ' ') continue;
    sequence = (sequence << 8 | next) & 0xffffff;
    if (sequence >> 16 == 0 || (sequence >> 8 & 0xff) == ' ') continue; /* fewer than three letters, or letters of two words */
    counts[sequence * UINT32_C(2654435761) % buckets] += 1;
  }
}

static const DLTensor *tensor_of(const TVMFFIAny *value) {
  if (value->type_index == kTVMFFITensor) return (const DLTensor *)(const void *)(value->v_obj + 1);
  return value->type_index == kTVMFFIDLTensorPtr ? value->v_ptr : NULL;
}

static int fail(const char *message) {
  TVMFFIErrorSetRaisedFromCStr("ValueError", message);
  return -1;
}

/* text_features(texts: uint8[24 n], features: float32[n, buckets]): the table of a string tensor, and where its vectors go. */
TVM_FFI_EXPORT int __tvm_ffi_text_features(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  (void)self, (void)result;
  const DLTensor *texts = num_args == 2 ? tensor_of(&args[0]) : NULL;
  const DLTensor *features = num_args == 2 ? tensor_of(&args[1]) : NULL;
  if (texts == NULL || features == NULL) return fail("text_features takes two tensors");
  if (texts->ndim != 1 || texts->dtype.code != kDLUInt || texts->dtype.bits != 8)
    return fail("text_features takes the bytes of a string tensor");
  if (features->ndim != 2 || features->dtype.code != kDLFloat || features->dtype.bits != 32 || features->shape[1] == 0 ||
      features->shape[1] > INT32_MAX || texts->shape[0] != features->shape[0] * STRUCT_SIZE)
    return fail("text_features takes a row of float32 for each text");
  const uint8_t *table = (const uint8_t *)texts->data + texts->byte_offset;
  const uint32_t buckets = (uint32_t)features->shape[1];
  float *row = (float *)(void *)((uint8_t *)features->data + features->byte_offset);
  memset(row, 0, (size_t)features->shape[0] * buckets * sizeof *row);
  for (int64_t i = 0; i < features->shape[0]; i++, row += buckets) {
    count_sequences(read_text(table + i * STRUCT_SIZE), row, buckets);
    for (uint32_t bucket = 0; bucket < buckets; bucket++) row[bucket] = log1pf(row[bucket]);
  }
  return 0;
}
