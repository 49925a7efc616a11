#include <fenv.h>
#include <string.h>

#include "base/floating_point.h"
#include "check.h"
#include "tenon.h"

static int32_t open_library(const char *path, void **out) { return tn_library_open(path, strlen(path), out); }

TEST(a_library_opens_and_exports_symbols) {
  void *library = NULL;
  void *address = NULL;
  CHECK(open_library("libm.so.6", &library) == TN_OK);
  CHECK(tn_library_symbol(library, "cosine", 3, &address) == TN_OK); /* the span is "cos" */
  double (*cosine)(double) = NULL;
  memcpy(&cosine, &address, sizeof cosine);
  CHECK(cosine(0) == 1);
  CHECK(tn_library_symbol(library, "no_such_function", 16, &address) == TN_NOT_FOUND);
}

TEST(the_last_error_is_the_reason_of_the_loader) {
  void *library = NULL;
  CHECK(open_library("/nowhere/libnothing.so", &library) == TN_LOAD_FAILED);
  CHECK(strstr(tn_last_error(), "libnothing.so") != NULL);
  CHECK(library == NULL);
}

TEST(bad_library_arguments_are_refused) {
  void *out = NULL;
  CHECK(tn_library_open(NULL, 3, &out) == TN_INVALID_ARGUMENT);
  CHECK(tn_library_open("x", 0, &out) == TN_INVALID_ARGUMENT);
  CHECK(tn_library_open("a\0b", 3, &out) == TN_INVALID_ARGUMENT);
  CHECK(tn_library_symbol(NULL, "x", 1, &out) == TN_INVALID_ARGUMENT);
  CHECK(tn_first_core(NULL, NULL) == TN_INVALID_ARGUMENT);
}

TEST(the_symbols_of_a_library_are_global_or_not) {
  void *process = NULL, *library = NULL, *address = NULL;
  CHECK(tn_library_process(&process) == TN_OK);
  CHECK(open_library("libbz2.so.1.0", &library) == TN_OK);
  CHECK(tn_library_symbol(process, "BZ2_bzlibVersion", 16, &address) == TN_NOT_FOUND);
  CHECK(tn_library_open_globally("libbz2.so.1.0", 13, &library) == TN_OK);
  CHECK(tn_library_symbol(process, "BZ2_bzlibVersion", 16, &address) == TN_OK);
  CHECK(tn_library_open_globally("/nowhere/libnothing.so", 22, &library) == TN_LOAD_FAILED);
}

TEST(the_core_opens_itself) {
  void *library = NULL, *address = NULL;
  CHECK(tn_library_open_core(&library) == TN_OK);
  CHECK(tn_library_symbol(library, "tn_version", 10, &address) == TN_OK);
  CHECK((uintptr_t)address == (uintptr_t)tn_version);
  CHECK(tn_library_open_core(NULL) == TN_INVALID_ARGUMENT);
}

TEST(the_first_core_is_this_one) {
  const char *path = NULL;
  const char *version = NULL;
  CHECK(tn_first_core(&path, &version) == TN_OK);
  CHECK(strstr(path, "tenon") != NULL);
  CHECK(strcmp(version, tn_version()) == 0);
}

TEST(library_process_finds_symbols_of_linked_libraries) {
  void *library = NULL;
  CHECK(tn_library_process(&library) == TN_OK);
  void *symbol = NULL;
  CHECK(tn_library_symbol(library, "strlen", 6, &symbol) == TN_OK);
  CHECK(symbol != NULL);
  CHECK(tn_library_symbol(library, "no_such_symbol", 14, &symbol) == TN_NOT_FOUND);
  CHECK(tn_library_process(NULL) == TN_INVALID_ARGUMENT);
}

TEST(rule_8_opening_a_library_keeps_the_control_bits_of_floating_point) {
  const tn__floating_point_t before = tn__floating_point_save();
  void *library = NULL;
  /* The full path, because sanitizers replace dlopen() by one that does not search beside the core. */
  char path[4096];
  const char *core = NULL, *version = NULL;
  CHECK(tn_first_core(&core, &version) == TN_OK);
  snprintf(path, sizeof path, "%.*slibfast_math.so", (int)(strrchr(core, '/') + 1 - core), core);
  CHECK(open_library(path, &library) == TN_OK);
  const tn__floating_point_t after = tn__floating_point_save();
  CHECK(after.control == before.control && after.x87 == before.x87);
  int64_t (*control)(void) = NULL;
  void (*flush)(void) = NULL;
  void *address = NULL;
  CHECK(tn_library_symbol(library, "fast_math_control", 17, &address) == TN_OK);
  memcpy(&control, &address, sizeof control);
  CHECK(tn_library_symbol(library, "fast_math_flush", 15, &address) == TN_OK);
  memcpy(&flush, &address, sizeof flush);
  CHECK((uint64_t)control() == before.control);
  flush();
  const uint64_t changed = tn__fp_control();
  tn__floating_point_restore(before);
  CHECK(changed != before.control && tn__fp_control() == before.control);
}

TEST(rule_8_restoring_the_control_bits_keeps_the_status_bits) {
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
