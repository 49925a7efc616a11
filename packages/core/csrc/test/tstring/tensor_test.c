/* read.c and convert.c: invalid arguments, and sources that change between measure and convert. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "tenon_tstring.h"

static const char text[] = "onetwothree";

static tn_tstring_tensor_t arrow(const int32_t *offsets, uint64_t count) {
  return (tn_tstring_tensor_t){
      .struct_size = sizeof(tn_tstring_tensor_t),
      .layout = TN_TSTRING_ARROW32,
      .abi = TN_TSTRING_LE64,
      .count = count,
      .table_size = 4 * (count + 1),
      .data_size = sizeof text - 1,
      .table = (const uint8_t *)offsets,
      .data = (const uint8_t *)text,
  };
}

static tn_tstring_fault_t fault;

TEST(a_source_that_has_grown_is_a_fault_and_the_target_is_not_exceeded) {
  int32_t offsets[4] = {0, 3, 6, 6};
  const tn_tstring_tensor_t source = arrow(offsets, 3);
  for (int32_t layout = TN_TSTRING_TF; layout <= TN_TSTRING_ARROW64; layout++) {
    offsets[3] = 6;
    tn_tstring_target_t target = {sizeof target, layout, TN_TSTRING_LE64, TN_TSTRING_AS_OFFSET, 0, 0, 0, 0, NULL, NULL};
    CHECK(tn_tstring_measure(&source, NULL, 3, &target, &fault) == TN_OK);
    uint8_t *block = malloc(target.table_size + target.data_size);
    CHECK(block != NULL);
    const uint64_t data_size = target.data_size;
    target.table = block;
    target.data = block + target.table_size;
    CHECK(tn_tstring_convert(&source, NULL, 3, &target, &fault) == TN_OK);
    CHECK(target.data_size == data_size);
    offsets[3] = 11;
    const int32_t status = tn_tstring_convert(&source, NULL, 3, &target, &fault);
    free(block);
    CHECK(status == TN_INVALID_ARGUMENT && fault.check == TN_TSTRING_CHECK_CHANGED && fault.index == 2);
  }
}

TEST(the_length_of_a_legacy_string_is_not_written_after_the_end_of_a_target) {
  int32_t offsets[3] = {0, 5, 5};
  const tn_tstring_tensor_t source = arrow(offsets, 2);
  tn_tstring_target_t target = {.struct_size = sizeof target, .layout = TN_TSTRING_LEGACY};
  CHECK(tn_tstring_measure(&source, NULL, 2, &target, &fault) == TN_OK && target.data_size == 7);
  uint8_t block[16 + 7 + 1];
  block[16 + 7] = 0x5a;
  target.table = block;
  target.data = block + 16;
  offsets[1] = offsets[2] = 6;
  CHECK(tn_tstring_convert(&source, NULL, 2, &target, &fault) == TN_INVALID_ARGUMENT);
  CHECK(fault.check == TN_TSTRING_CHECK_CHANGED && fault.index == 1 && fault.value == 7 && fault.limit == 7);
  CHECK(block[16 + 7] == 0x5a);
}

TEST(invalid_arguments_are_refused) {
  const int32_t offsets[4] = {0, 3, 6, 11};
  tn_tstring_tensor_t source = arrow(offsets, 3);
  tn_tstring_target_t target = {sizeof target, TN_TSTRING_TF, TN_TSTRING_LE64, TN_TSTRING_AS_OFFSET, 1, 0, 0, 0,
                                NULL,          NULL};
  uint8_t block[72];
  target.table = target.data = block;
  target.table_size = 48;
  CHECK(tn_tstring_convert(&source, NULL, 3, &target, &fault) == TN_INVALID_ARGUMENT);
  const uint32_t selection[1] = {3};
  CHECK(tn_tstring_measure(&source, selection, 1, &target, &fault) == TN_INVALID_ARGUMENT);
  CHECK(fault.check == TN_TSTRING_CHECK_SELECTION && fault.value == 3 && fault.limit == 3);
  target.layout = 9;
  CHECK(tn_tstring_measure(&source, NULL, 3, &target, &fault) == TN_INVALID_ARGUMENT);
  target.layout = TN_TSTRING_TF;
  target.form = 9;
  CHECK(tn_tstring_measure(&source, NULL, 3, &target, &fault) == TN_INVALID_ARGUMENT);
  target.form = TN_TSTRING_AS_POINTER;
  target.abi = sizeof(void *) == 8 ? TN_TSTRING_BE32 : TN_TSTRING_BE64;
  CHECK(tn_tstring_measure(&source, NULL, 3, &target, &fault) == TN_INVALID_ARGUMENT);
  target.abi = 4;
  CHECK(tn_tstring_measure(&source, NULL, 3, &target, &fault) == TN_INVALID_ARGUMENT);
  tn_tstring_sums_t total;
  source.layout = -1;
  CHECK(tn_tstring_validate(&source, 1, 100, &total, &fault) == TN_INVALID_ARGUMENT);
  source.layout = TN_TSTRING_ARROW32;
  source.abi = -1;
  CHECK(tn_tstring_validate(&source, 1, 100, &total, &fault) == TN_INVALID_ARGUMENT);
  source.abi = TN_TSTRING_LE64;
  source.count = UINT64_MAX;
  CHECK(tn_tstring_validate(&source, 1, 100, &total, &fault) == TN_INVALID_ARGUMENT);
  CHECK(fault.check == TN_TSTRING_CHECK_TABLE_SIZE);
}

TEST(pointers_are_followed_only_with_the_flag) {
  uint8_t string[24] = {0};
  CHECK(tn_tstring_copy(string, "a string with a block of its own", 32) == TN_OK);
  tn_tstring_tensor_t tensor = {sizeof tensor, TN_TSTRING_TF, TN_TSTRING_LE64, 0, 1, 24, 24, string, string};
  uint8_t out[40];
  uint64_t size = 0;
  CHECK(tn_tstring_read(&tensor, 0, out, sizeof out, &size, &fault) == TN_INVALID_ARGUMENT);
  CHECK(fault.check == TN_TSTRING_CHECK_STRUCT_TYPE);
  tensor.flags = TN_TSTRING_FOLLOW;
  CHECK(tn_tstring_read(&tensor, 0, out, 4, &size, &fault) == TN_OK);
  CHECK(size == 32 && memcmp(out, "a st", 4) == 0);
  tn_tstring_dealloc_all(string, 1, TN_TSTRING_TF);
  CHECK(tn_tstring_get_size(string) == 0);
}

TEST(an_element_is_found_before_a_malformed_one) {
  uint8_t structs[48] = {0};
  structs[0] = 1 << 2;
  structs[1] = 'a';
  structs[24] = TN_TSTRING_VIEW;
  const tn_tstring_tensor_t tensor = {sizeof tensor, TN_TSTRING_TF, TN_TSTRING_BE64, 0, 2, 48, 48, structs, structs};
  uint64_t index = 9;
  CHECK(tn_tstring_find(&tensor, (const uint8_t *)"a", 1, 0, &index, &fault) == TN_OK && index == 0);
  CHECK(tn_tstring_find(&tensor, (const uint8_t *)"b", 1, 0, &index, &fault) == TN_INVALID_ARGUMENT);
  CHECK(fault.check == TN_TSTRING_CHECK_STRUCT_TYPE && fault.index == 1);
  structs[1] = 0xff;
  CHECK(tn_tstring_find_invalid_utf8(&tensor, 0, &index, &fault) == TN_OK && index == 0);
  structs[1] = 'a';
  CHECK(tn_tstring_find_invalid_utf8(&tensor, 0, &index, &fault) == TN_INVALID_ARGUMENT && fault.index == 1);
}

TEST(a_tflite_count_of_zero_is_a_tensor_without_strings) {
  const uint8_t zeros[8] = {0};
  for (uint64_t size = 4; size <= 8; size += 4) {
    tn_tstring_sums_t sums;
    const tn_tstring_tensor_t tensor = {sizeof tensor, TN_TSTRING_TFLITE, TN_TSTRING_LE64, 0, 0, size, size, zeros, zeros};
    CHECK(tn_tstring_validate(&tensor, 0, 0, &sums, &fault) == TN_OK && sums.total == 0);
    CHECK(tn_tstring_validate(&tensor, 1, 0, &sums, &fault) == TN_INVALID_ARGUMENT);
  }
}
