#include <string.h>

#include "check.h"
#include "tenon.h"

TEST(the_length_of_a_text_is_read_up_to_its_terminator) {
  CHECK(tn_text_length("", 1) == 0);
  CHECK(tn_text_length("abc", 4) == 3);
  CHECK(tn_text_length("abc", 3) == 3);
  CHECK(tn_text_length("abc", 2) == 2);
  CHECK(tn_text_length("abc", 1 << 20) == 3);
  CHECK(tn_text_length("abc", 0) == 0);
}

TEST(no_byte_after_the_terminator_or_the_limit_is_read) {
  const size_t page = tn_page_size();
  char *block = NULL;
  CHECK(tn_pages_open(page, (void **)&block) == TN_OK);
  char *end = block + page;
  memset(block, 'x', page - 1);
  for (size_t length = 0; length < 64; length++) {
    CHECK(tn_text_length(end - 1 - length, 1 << 20) == length);
    CHECK(tn_text_length(end - 1 - length, length) == length);
  }
  end[-1] = 'x';
  for (size_t limit = 0; limit < 64; limit++) CHECK(tn_text_length(end - limit, limit) == limit);
  CHECK(tn_pages_close(block, page) == TN_OK);
}
