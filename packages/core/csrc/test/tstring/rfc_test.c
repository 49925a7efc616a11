/* rfc.c: containers, the blocks that keep them, and sources inside the string. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "tenon_tstring.h"

static const int32_t layouts[] = {TN_TSTRING_RFC16, TN_TSTRING_RFC24};

static size_t size_of(int32_t layout) { return layout == TN_TSTRING_RFC16 ? 16 : 24; }

static char *characters(const uint8_t *string, int32_t layout) {
  char *pointer;
  memcpy(&pointer, string + (layout == TN_TSTRING_RFC16 ? sizeof(size_t) : 2 * sizeof(size_t)), sizeof pointer);
  return pointer;
}

TEST(a_block_is_freed_once) {
  char text[300];
  for (size_t i = 0; i < sizeof text; i++) text[i] = (char)('a' + i % 26);
  for (int kind = 0; kind < 2; kind++) {
    const int32_t layout = layouts[kind];
    uint8_t string[24] = {0};
    for (size_t i = 0; i < 2000; i++) {
      const size_t size = i * 37 % sizeof text;
      CHECK(tn_tstring_rfc_assign(string, layout, text, size) == TN_OK);
      const char *data = (string[0] & 3) == TN_TSTRING_SMALL ? (char *)string + 1 : characters(string, layout);
      CHECK(memcmp(data, text, size) == 0);
    }
    tn_tstring_rfc_dealloc(string, layout);
    tn_tstring_rfc_dealloc(string, layout);
    CHECK((string[0] & 3) == TN_TSTRING_SMALL);
  }
}

TEST(a_string_of_tensorflow_in_a_struct_of_the_rfc_is_refused_and_not_freed) {
  const char *text = "a string that needs a block of its own";
  uint8_t string[24] = {0};
  CHECK(tn_tstring_copy(string, text, strlen(text)) == TN_OK);
  const tn_tstring_tensor_t tensor = {sizeof tensor, TN_TSTRING_RFC24, TN_TSTRING_LE64, TN_TSTRING_FOLLOW, 1, 24, 24, string, string};
  tn_tstring_fault_t fault = {sizeof fault, 0, 0, 0, 0};
  uint8_t out[64];
  uint64_t size = 0;
  CHECK(tn_tstring_read(&tensor, 0, out, sizeof out, &size, &fault) == TN_INVALID_ARGUMENT);
  CHECK(fault.check == TN_TSTRING_CHECK_POINTER && fault.value == (uint64_t)(uintptr_t)characters(string, TN_TSTRING_RFC24));
  tn_tstring_dealloc_all(string, 1, TN_TSTRING_RFC24);
  CHECK((string[0] & 3) == TN_TSTRING_LARGE);
  tn_tstring_dealloc_all(string, 1, TN_TSTRING_TF);
  CHECK((string[0] & 3) == TN_TSTRING_SMALL);
}

TEST(sources_of_the_rfc_may_lie_in_the_string_itself) {
  char text[100];
  for (size_t i = 0; i < sizeof text; i++) text[i] = (char)('a' + i % 26);
  for (int kind = 0; kind < 2; kind++) {
    const int32_t layout = layouts[kind];
    uint8_t string[24] = {0};
    CHECK(tn_tstring_rfc_assign(string, layout, text, 12) == TN_OK);
    CHECK(tn_tstring_rfc_assign(string, layout, (char *)string + 3, 5) == TN_OK);
    CHECK(memcmp(string + 1, text + 2, 5) == 0);
    CHECK(tn_tstring_rfc_assign(string, layout, text, 100) == TN_OK);
    CHECK(tn_tstring_rfc_assign(string, layout, characters(string, layout) + 10, 80) == TN_OK);
    CHECK(memcmp(characters(string, layout), text + 10, 80) == 0);
    CHECK(tn_tstring_rfc_assign(string, layout, characters(string, layout) + 5, 7) == TN_OK);
    CHECK((string[0] & 3) == TN_TSTRING_SMALL && memcmp(string + 1, text + 15, 7) == 0);
  }
}

TEST(moving_frees_the_block_of_the_target) {
  for (int kind = 0; kind < 2; kind++) {
    const int32_t layout = layouts[kind];
    uint8_t string[24] = {0}, source[24] = {0};
    char text[100] = {0};
    CHECK(tn_tstring_rfc_assign(string, layout, text, 100) == TN_OK);
    CHECK(tn_tstring_rfc_assign(source, layout, text, 90) == TN_OK);
    CHECK(tn_tstring_rfc_move(string, source, layout) == TN_OK);
    CHECK(tn_tstring_rfc_move(string, string, layout) == TN_OK);
    uint8_t empty[24] = {0};
    CHECK(memcmp(source, empty, size_of(layout)) == 0);
    tn_tstring_rfc_dealloc(string, layout);
  }
  uint8_t other[24] = {0};
  CHECK(tn_tstring_rfc_assign(other, TN_TSTRING_TF, "x", 1) == TN_INVALID_ARGUMENT);
  CHECK(tn_tstring_rfc_move(other, other, TN_TSTRING_TF) == TN_INVALID_ARGUMENT);
}
