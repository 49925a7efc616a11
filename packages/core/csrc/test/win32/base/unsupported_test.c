/* Functions that the core refuses on Windows, and results that differ there. */
#include <stdint.h>
#include <string.h>

#include "check.h"
#include "tenon.h"

TEST(guarded_memory_and_watched_descriptors_are_refused) {
  uint64_t out[2];
  int32_t watch = 0;
  CHECK(tn_guarded_open(24, 64, 1000000, "a test", 6, out) == TN_UNSUPPORTED);
  CHECK(strstr(tn_last_error(), "not supported on Windows") != NULL);
  CHECK(tn_guarded_count() == 0);
  CHECK(tn_watch_open(0, &watch) == TN_UNSUPPORTED);
}

TEST(copies_of_the_core_cannot_find_each_other) {
  const char *path = NULL, *version = NULL;
  CHECK(tn_first_core(&path, &version) == TN_UNSUPPORTED);
}

TEST(symbols_of_the_process_are_those_of_the_program) {
  void *process = NULL, *symbol = NULL;
  CHECK(tn_library_process(&process) == TN_OK);
  CHECK(tn_library_symbol(process, "tn_version", 10, &symbol) == TN_NOT_FOUND);
  CHECK(tn_library_process(NULL) == TN_INVALID_ARGUMENT);
}

TEST(paths_must_be_utf_8) {
  void *library = NULL;
  CHECK(tn_library_open("\xff.dll", 5, &library) == TN_INVALID_ARGUMENT);
  CHECK(strcmp(tn_last_error(), "path must be valid UTF-8") == 0);
}
