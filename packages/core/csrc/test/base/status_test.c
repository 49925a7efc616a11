#include <string.h>

#include "check.h"
#include "tenon.h"

TEST(the_version_is_that_of_the_package) { CHECK(strcmp(tn_version(), TN_VERSION) == 0); }
