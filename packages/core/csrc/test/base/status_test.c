/* status.c: codes, texts, and the last error of a thread. */
#include <string.h>

#include "check.h"
#include "tenon.h"

TEST(every_status_has_a_text) {
#define TN_STATUS(name, value, text) CHECK(strcmp(tn_status_text(value), text) == 0);
#include "status.def"
#undef TN_STATUS
}

TEST(an_unknown_status_has_the_text_unknown) {
  CHECK(strcmp(tn_status_text(1), "unknown status") == 0);
  CHECK(strcmp(tn_status_text(INT32_MIN), "unknown status") == 0);
}

TEST(the_version_is_that_of_the_package) { CHECK(strcmp(tn_version(), TN_VERSION) == 0); }
