#include "library.h"

#include <fenv.h>

#include "base/floating_point.h"
#include "check.h"

TEST(a_library_opens_and_exports_symbols) {
  void *library = NULL;
  void *address = NULL;
  CHECK(open_library(beside_core(LIBRARY_NAME("core_fixture_dependency")), &library) == TN_OK);
  CHECK(tn_library_symbol(library, "fixture_dependency_2", 18, &address) == TN_OK); /* the span ends before "_2" */
  int32_t (*function)(void) = NULL;
  memcpy(&function, &address, sizeof function);
  CHECK(function() == 7);
  CHECK(tn_library_symbol(library, "no_such_function", 16, &address) == TN_NOT_FOUND);
}

TEST(a_library_that_is_missing_leaves_the_reason_of_the_loader) {
  void *library = NULL;
  CHECK(open_library("/nowhere/" LIBRARY_NAME("nothing"), &library) == TN_LOAD_FAILED);
  CHECK(tn_last_error()[0] != '\0');
  CHECK(library == NULL);
}

TEST(bad_library_arguments_are_refused) {
  void *out = NULL;
  CHECK(tn_library_open(NULL, 3, &out) == TN_INVALID_ARGUMENT);
  CHECK(tn_library_open("x", 0, &out) == TN_INVALID_ARGUMENT);
  CHECK(tn_library_open("a\0b", 3, &out) == TN_INVALID_ARGUMENT);
  CHECK(tn_library_symbol(NULL, "x", 1, &out) == TN_INVALID_ARGUMENT);
}

TEST(the_core_opens_itself) {
  void *library = NULL, *address = NULL;
  CHECK(tn_library_open_core(&library) == TN_OK);
  CHECK(tn_library_symbol(library, "tn_version", 10, &address) == TN_OK);
  const char *(*version)(void) = NULL;
  memcpy(&version, &address, sizeof version);
  CHECK(version() == tn_version());
  CHECK(tn_library_open_core(NULL) == TN_INVALID_ARGUMENT);
}

TEST(opening_a_library_keeps_the_control_bits_of_floating_point) {
  const tn__floating_point_t before = tn__floating_point_save();
  void *library = NULL;
  CHECK(open_library(beside_core(LIBRARY_NAME("fast_math")), &library) == TN_OK);
  const tn__floating_point_t after = tn__floating_point_save();
  CHECK(!tn__floating_point_differs(after, before));
  int64_t (*control)(void) = NULL;
  void (*flush)(void) = NULL;
  void *address = NULL;
  CHECK(tn_library_symbol(library, "fast_math_control", 17, &address) == TN_OK);
  memcpy(&control, &address, sizeof control);
  CHECK(tn_library_symbol(library, "fast_math_flush", 15, &address) == TN_OK);
  memcpy(&flush, &address, sizeof flush);
  CHECK((uint64_t)control() == (before.control | (uint64_t)before.x87 << 32));
  flush();
  const uint64_t changed = tn__fp_control();
  tn__floating_point_restore(before);
  CHECK(changed != before.control && tn__fp_control() == before.control);
}

TEST(restoring_the_control_bits_keeps_the_status_bits) {
  const tn__floating_point_t before = tn__floating_point_save();
  volatile double zero = 0, infinity = 1 / zero;
  CHECK(infinity > 1);
  CHECK(fetestexcept(FE_DIVBYZERO) != 0);
  CHECK(fesetround(FE_DOWNWARD) == 0);
  CHECK(tn__fp_control() != before.control);
  tn__floating_point_restore(before);
  CHECK(fetestexcept(FE_DIVBYZERO) != 0);
  feclearexcept(FE_ALL_EXCEPT);
}
