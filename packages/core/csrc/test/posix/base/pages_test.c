#include "check.h"

#include <string.h>

#include "tenon.h"

TEST(pages_end_at_a_protected_page_and_are_zeroed) {
  size_t page = tn_page_size();
  CHECK(page > 0 && (page & (page - 1)) == 0);
  char *block = NULL;
  CHECK(tn_pages_open(2 * page, (void **)&block) == TN_OK);
  CHECK(block[0] == 0 && block[2 * page - 1] == 0);
  memset(block, 1, 2 * page);
  uint64_t resident = 0;
  CHECK(tn_pages_resident(block, 2 * page, &resident) == TN_OK);
  CHECK(resident == 2);
  CHECK(tn_pages_protect(block, 2 * page) == TN_OK);
  CHECK(tn_pages_close(block, 2 * page) == TN_OK);
}

TEST(sizes_of_pages_are_multiples_of_the_page_size) {
  void *block = NULL;
  CHECK(tn_pages_open(0, &block) == TN_INVALID_ARGUMENT);
  CHECK(tn_pages_open(1, &block) == TN_INVALID_ARGUMENT);
  CHECK(tn_pages_open(tn_page_size(), NULL) == TN_INVALID_ARGUMENT);
  CHECK(block == NULL);
}

TEST(guarded_pages_can_be_named_and_removed) {
  size_t page = tn_page_size();
  void *block = NULL;
  CHECK(tn_pages_open(page, &block) == TN_OK);
  CHECK(tn_guard_report_add(block, page, page - 16, 16, "a scope", 7) == TN_OK);
  CHECK(tn_guard_report_add(NULL, page, 0, 16, "a scope", 7) == TN_INVALID_ARGUMENT);
  CHECK(tn_guard_report_add(block, page, 0, 16, NULL, 7) == TN_INVALID_ARGUMENT);
  tn_guard_report_remove(block);
  tn_guard_report_remove(block);
  CHECK(tn_pages_close(block, page) == TN_OK);
}

TEST(guarded_memory_ends_at_its_pages_and_finds_changed_bytes) {
  const uint64_t before = tn_guarded_count();
  uint64_t out[2], damage[4];
  CHECK(tn_guarded_open(24, 64, 1000000, "a test", 6, out) == TN_OK);
  CHECK(tn_guarded_count() == before + 1);
  tn_guarded_t *block = (tn_guarded_t *)(uintptr_t)out[0];
  char *memory = (char *)(uintptr_t)out[1];
  CHECK((uintptr_t)memory % 64 == 0 && ((uintptr_t)memory + 64) % tn_page_size() == 0);
  for (int i = 0; i < 24; i++) CHECK(memory[i] == 0);
  memset(memory, 1, 24);
  tn_guarded_check(block, damage);
  CHECK(damage[0] == 0 && damage[2] == 0);
  memory[26] = memory[29] = memory[-5] = memory[-1] = 0;
  tn_guarded_check(block, damage);
  CHECK(damage[0] == 2 && damage[1] == 5 && damage[2] == 2 && damage[3] == 2);
  tn_guarded_check(block, damage);
  CHECK(damage[0] == 0 && damage[2] == 0);
  tn_guarded_free(block);
}

TEST(guarded_memory_is_refused_from_the_limit_on_and_then_not_counted) {
  const uint64_t before = tn_guarded_count();
  uint64_t out[2] = {0, 0};
  CHECK(tn_guarded_open(16, 16, before, "a test", 6, out) == TN_OUT_OF_MEMORY);
  CHECK(strstr(tn_last_error(), "guarded blocks already") != NULL);
  CHECK(tn_guarded_open(SIZE_MAX, 16, before + 1, "a test", 6, out) == TN_OUT_OF_MEMORY);
  CHECK(tn_guarded_open((size_t)1 << 62, 16, before + 1, "a test", 6, out) == TN_OUT_OF_MEMORY);
  CHECK(tn_guarded_open(16, 16, before + 1, NULL, 6, out) == TN_INVALID_ARGUMENT);
  CHECK(tn_guarded_count() == before && out[0] == 0);
  CHECK(tn_guarded_open(16, 16, before + 1, "a test", 6, out) == TN_OK);
  CHECK(tn_guarded_count() == before + 1);
  tn_guarded_free((tn_guarded_t *)(uintptr_t)out[0]);
}

TEST(guarded_memory_has_limits_and_a_bounded_quarantine) {
  uint64_t out[2];
  CHECK(tn_guarded_open(16, 3, 1000, "a test", 6, out) == TN_INVALID_ARGUMENT);
  CHECK(tn_guarded_open(16, 16, 1000, "a test", 6, NULL) == TN_INVALID_ARGUMENT);
  CHECK(tn_guarded_open(16, 16, 0, "a test", 6, out) == TN_OUT_OF_MEMORY);
  CHECK(tn_guarded_open(SIZE_MAX - 4096, 16, 1000000, "a test", 6, out) == TN_OUT_OF_MEMORY);
  CHECK(tn_guarded_open((size_t)1 << 62, 16, 1000000, "a test", 6, out) == TN_OUT_OF_MEMORY);
  CHECK(tn_guarded_open(16, (size_t)1 << 16, 1000000, "a test", 6, out) == TN_OK);
  CHECK(out[1] % ((size_t)1 << 16) == 0);
  tn_guarded_free((tn_guarded_t *)(uintptr_t)out[0]);
  for (int i = 0; i < 3000; i++) {
    CHECK(tn_guarded_open((size_t)i, 64, 1000000, "a test", 6, out) == TN_OK);
    tn_guarded_free((tn_guarded_t *)(uintptr_t)out[0]);
  }
  CHECK(tn_guarded_count() == 1024);
  /* More address space than the quarantine has. */
  for (int i = 0; i < 3; i++) {
    CHECK(tn_guarded_open((size_t)40 << 30, 64, 1000000, "a test", 6, out) == TN_OK);
    tn_guarded_free((tn_guarded_t *)(uintptr_t)out[0]);
  }
  CHECK(tn_guarded_count() == 1);
}
