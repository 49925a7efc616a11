/* Kernels of the benchmarks. Those that read a part of their operand only measure how the operand reaches them. */
#include <tenon/kernel.h>

#include "sum.h"

enum { PAGE = 4096 };

static void answer(tn_xla_reader_t *in, int64_t step) {
  const tn_xla_buffer_t *bytes = tn_xla_arg(in, 0, TN_XLA_U8, 1);
  const tn_xla_buffer_t *sum = tn_xla_ret(in, 0, TN_XLA_F32, 1);
  if (!tn_xla_complete(in)) return;
  uint64_t total = 0;
  if (step != 0)
    for (int64_t i = 0; i < bytes->dims[0]; i += step) total += ((const uint8_t *)bytes->data)[i];
  *(float *)sum->data = (float)total;
}

TN_KERNEL(touch_pages, "(bytes: u8[n]) -> (sum: f32[1]) -- The sum of the first byte of each page.") { answer(in, PAGE); }
TN_KERNEL(read_nothing, "(bytes: u8[n]) -> (sum: f32[1]) -- Zero.") { answer(in, 0); }

TN_KERNEL(sum, "(words: s32[n]) -> (sum: s32[1]) -- The sum of all words, which wraps.") {
  const tn_xla_buffer_t *words = tn_xla_arg(in, 0, TN_XLA_S32, 1);
  const tn_xla_buffer_t *sum = tn_xla_ret(in, 0, TN_XLA_S32, 1);
  if (tn_xla_complete(in)) *(int32_t *)sum->data = sum_words(words->data, words->dims[0]);
}
