/* Symbols of the process, which Windows lacks. */
#include "library.h"

#include "check.h"

TEST(the_reason_of_the_loader_names_the_library) {
  void *library = NULL;
  CHECK(open_library("/nowhere/libnothing.so", &library) == TN_LOAD_FAILED);
  CHECK(strstr(tn_last_error(), "libnothing.so") != NULL);
}

TEST(the_symbols_of_a_library_are_global_or_not) {
  void *process = NULL, *library = NULL, *address = NULL;
  const char *path = beside_core(LIBRARY_NAME("structs"));
  CHECK(tn_library_process(&process) == TN_OK);
  CHECK(open_library(path, &library) == TN_OK);
  CHECK(tn_library_symbol(process, "structs_packed", 14, &address) == TN_NOT_FOUND);
  CHECK(tn_library_open_globally(path, strlen(path), &library) == TN_OK);
  CHECK(tn_library_symbol(process, "structs_packed", 14, &address) == TN_OK);
  CHECK(tn_library_open_globally("/nowhere/libnothing.so", 22, &library) == TN_LOAD_FAILED);
}

TEST(the_first_core_is_this_one) {
  const char *path = NULL;
  const char *version = NULL;
  CHECK(tn_first_core(&path, &version) == TN_OK);
  CHECK(strstr(path, "tenon") != NULL);
  CHECK(strcmp(version, tn_version()) == 0);
  CHECK(tn_first_core(NULL, NULL) == TN_INVALID_ARGUMENT);
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
