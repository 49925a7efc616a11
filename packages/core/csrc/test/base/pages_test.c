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
