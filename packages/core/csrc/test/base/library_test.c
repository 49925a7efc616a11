#include <string.h>

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
