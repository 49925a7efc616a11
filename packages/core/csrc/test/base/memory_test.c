#include <stdint.h>
#include <string.h>

#include "check.h"
#include "tenon.h"

TEST(memory_is_aligned_and_zeroed) {
  static const size_t sizes[] = {1, 7, 64, 4096, 1 << 20};
  for (size_t alignment = 1; alignment <= 1 << 16; alignment *= 2) {
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
      unsigned char *block = NULL;
      CHECK(tn_memory_allocate(sizes[i], alignment, (void **)&block) == TN_OK);
      CHECK((uintptr_t)block % alignment == 0);
      unsigned char any = 0;
      for (size_t at = 0; at < sizes[i]; at++) any |= block[at];
      memset(block, 0xff, sizes[i]);
      tn_memory_free(block);
      CHECK(any == 0);
    }
  }
}

TEST(empty_memory_has_an_address_of_its_own) {
  void *a = NULL;
  void *b = NULL;
  CHECK(tn_memory_allocate(0, 8, &a) == TN_OK);
  CHECK(tn_memory_allocate(0, 8, &b) == TN_OK);
  CHECK(a != NULL && b != NULL && a != b);
  tn_memory_free(a);
  tn_memory_free(b);
}

TEST(invalid_requests_are_refused_and_write_nothing) {
  void *const untouched = (void *)(uintptr_t)0x5a5a;
  void *out = untouched;
  CHECK(tn_memory_allocate(8, 0, &out) == TN_INVALID_ARGUMENT);
  CHECK(tn_memory_allocate(8, 24, &out) == TN_INVALID_ARGUMENT);
  CHECK(tn_memory_allocate(8, (size_t)1 << 31, &out) == TN_INVALID_ARGUMENT);
  CHECK(tn_memory_allocate(8, 8, NULL) == TN_INVALID_ARGUMENT);
  CHECK(tn_memory_allocate(SIZE_MAX, 8, &out) == TN_OUT_OF_MEMORY);
  CHECK(tn_memory_allocate(PTRDIFF_MAX, 64, &out) == TN_OUT_OF_MEMORY);
  CHECK(strstr(tn_last_error(), "byte_size") != NULL);
  CHECK(out == untouched);
  tn_memory_free(NULL);
}
