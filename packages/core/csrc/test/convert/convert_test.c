/* convert/: conversions between float32 and small types. The codes of all numbers are compared in test/convert-elements.test.ts. */
#include <math.h>
#include <string.h>

#include "../check.h"
#include "tenon_convert.h"

enum { FLOAT32 = 11, FLOAT16 = 10, BFLOAT16 = 16, INT4 = 21, E4M3FN = 20, FLOAT64 = 12, COUNT = 1000 };

TEST(convert_rejects_other_types_flags_and_counts) {
  float from[1] = {1};
  uint8_t to[8];
  CHECK(tn_convert(from, FLOAT64, to, FLOAT32, 1, 0) == TN_UNSUPPORTED);
  CHECK(tn_convert(from, FLOAT32, to, FLOAT64, 1, 0) == TN_UNSUPPORTED);
  CHECK(tn_convert(from, FLOAT32, to, UINT32_MAX, 1, 0) == TN_UNSUPPORTED);
  CHECK(tn_convert(from, 0, to, FLOAT32, 1, 0) == TN_UNSUPPORTED);
  CHECK(tn_convert(from, FLOAT32, to, FLOAT16, 1, 4) == TN_INVALID_ARGUMENT);
  CHECK(tn_convert(from, FLOAT32, to, FLOAT16, UINT64_MAX, 0) == TN_INVALID_ARGUMENT);
}

TEST(convert_writes_exactly_the_elements) {
  static float from[COUNT];
  static uint8_t to[2 * COUNT + 16];
  for (int i = 0; i < COUNT; i++) from[i] = (float)(i % 15) - 7;
  const struct {
    uint32_t type, flags;
    double bytes;
  } cases[] = {{FLOAT16, 0, 2}, {BFLOAT16, 0, 2}, {E4M3FN, 0, 1}, {INT4, 0, 1}, {INT4, TN_CONVERT_TO_PACKED, 0.5}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    for (size_t count = 0; count <= COUNT; count += count < 300 ? 1 : 97) {
      memset(to, 0xee, sizeof to);
      CHECK(tn_convert(from, FLOAT32, to, cases[i].type, count, cases[i].flags) == TN_OK);
      const size_t bytes = (size_t)ceil((double)count * cases[i].bytes);
      CHECK(to[bytes] == 0xee && to[bytes + 1] == 0xee);
      CHECK(bytes == 0 || to[bytes - 1] != 0xee);
      float back[COUNT + 1];
      back[count] = 123;
      const uint32_t from_flags = cases[i].flags == 0 ? 0 : TN_CONVERT_FROM_PACKED;
      CHECK(tn_convert(to, cases[i].type, back, FLOAT32, count, from_flags) == TN_OK);
      CHECK(memcmp(back, from, count * sizeof *from) == 0);
      CHECK(back[count] == 123);
    }
  }
}

TEST(convert_clears_the_bits_behind_packed_elements) {
  const uint8_t from[2] = {0x21, 0xf3};
  uint8_t to[2] = {0xff, 0xff};
  CHECK(tn_convert(from, INT4, to, 22, 3, TN_CONVERT_FROM_PACKED | TN_CONVERT_TO_PACKED) == TN_OK);
  CHECK(to[0] == 0x21 && to[1] == 0x03);
}

#if defined(__x86_64__) && defined(__SSE__)
TEST(convert_makes_subnormal_numbers_on_a_thread_that_flushes_them_to_zero) {
  const float from[3] = {0x1p-24f, 0x1.8p-130f, -0x1p-133f};
  uint16_t halves[3], brains[3];
  uint8_t powers[3];
  float back[3];
  const unsigned before = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(before | 0x8040);
  tn_convert(from, FLOAT32, halves, FLOAT16, 3, 0);
  tn_convert(from, FLOAT32, brains, BFLOAT16, 3, 0);
  tn_convert(from, FLOAT32, powers, 33, 3, 0);
  tn_convert(brains, BFLOAT16, back, FLOAT32, 3, 0);
  __builtin_ia32_ldmxcsr(before);
  CHECK(halves[0] == 1 && halves[1] == 0 && halves[2] == 0x8000);
  CHECK(memcmp(back, from, sizeof from) == 0);
  CHECK(powers[0] == 103 && powers[1] == 0 && powers[2] == 255);
}
#endif
