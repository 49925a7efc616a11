/* Readers of string tensors, with tensors that end at a page without access: cut off after every byte, and with
 * changed bits. */
#include <string.h>

#include "check.h"
#include "posix/guard_page.h"
#include "tenon_tstring.h"

enum { COUNT = 4, CAPACITY = 512 };

/* Short, empty, and two that are longer than every SMALL string. */
static const char text[] = "one" "a string that fits no struct" "another string that fits none";
static const int32_t offsets[COUNT + 1] = {0, 3, 3, 31, 60};

/* The tensor of a layout, as the library writes it: its table, then its data. */
typedef struct {
  tn_tstring_tensor_t tensor;
  uint8_t bytes[CAPACITY];
} written_t;

static int is_arrow(int32_t layout) {
  return layout == TN_TSTRING_ARROW32 || layout == TN_TSTRING_ARROW64;
}

static int write_tensor(written_t *out, int32_t layout) {
  const tn_tstring_tensor_t source = {
      .struct_size = sizeof source,
      .layout = TN_TSTRING_ARROW32,
      .count = COUNT,
      .table_size = sizeof offsets,
      .data_size = sizeof text - 1,
      .table = (const uint8_t *)offsets,
      .data = (const uint8_t *)text,
  };
  tn_tstring_target_t target = {sizeof target, layout, TN_TSTRING_LE64, TN_TSTRING_AS_OFFSET, 1, 0, 0, 0, NULL, NULL};
  tn_tstring_fault_t fault;
  if (tn_tstring_measure(&source, NULL, COUNT, &target, &fault) != TN_OK) return 0;
  if (target.table_size + target.data_size > CAPACITY) return 0;
  target.table = out->bytes;
  target.data = out->bytes + target.table_size;
  if (tn_tstring_convert(&source, NULL, COUNT, &target, &fault) != TN_OK) return 0;
  const uint64_t whole = target.table_size + target.data_size;
  out->tensor = (tn_tstring_tensor_t){
      .struct_size = sizeof out->tensor,
      .layout = layout,
      .abi = TN_TSTRING_LE64,
      .count = COUNT,
      .table_size = is_arrow(layout) ? target.table_size : whole,
      .data_size = is_arrow(layout) ? target.data_size : whole,
  };
  return 1;
}

/* Calls every reader. Returns whether each found a fault or nothing wrong. */
static int reads(const tn_tstring_tensor_t *tensor) {
  tn_tstring_fault_t fault;
  tn_tstring_target_t target = {.struct_size = sizeof target, .layout = TN_TSTRING_ARROW64};
  uint8_t out[CAPACITY];
  uint32_t hashes[COUNT];
  int8_t orders[COUNT];
  uint64_t index, size;
  int32_t statuses[COUNT + 5], n = 0;
  for (uint64_t i = 0; i < COUNT; i++) statuses[n++] = tn_tstring_read(tensor, i, out, sizeof out, &size, &fault);
  statuses[n++] = tn_tstring_find(tensor, (const uint8_t *)"absent", 6, 0, &index, &fault);
  statuses[n++] = tn_tstring_hash(tensor, 1, hashes, &fault);
  statuses[n++] = tn_tstring_find_invalid_utf8(tensor, 0, &index, &fault);
  statuses[n++] = tn_tstring_compare(tensor, tensor, orders, &fault);
  statuses[n++] = tn_tstring_measure(tensor, NULL, COUNT, &target, &fault);
  if (statuses[n - 1] == TN_OK && target.table_size + target.data_size <= sizeof out) {
    target.table = out;
    target.data = out + target.table_size;
    if (tn_tstring_convert(tensor, NULL, COUNT, &target, &fault) != TN_OK) return 0;
  }
  for (int32_t i = 0; i < n; i++)
    if (statuses[i] != TN_OK && statuses[i] != TN_INVALID_ARGUMENT && statuses[i] != TN_NOT_FOUND) return 0;
  return 1;
}

/* The fault of a tensor with fewer bytes than `below`, and with at least those of the fault before it in the list. */
typedef struct {
  uint64_t below;
  int32_t check;
  uint64_t index;
} cut_t;

#define CUT(below, check, index) {below, TN_TSTRING_CHECK_##check, index}

static const struct {
  int32_t layout;
  cut_t cuts[9];
} expected[] = {
    {TN_TSTRING_TF, {CUT(96, TABLE_SIZE, 4), CUT(124, OFFSET_END, 2), CUT(153, OFFSET_END, 3)}},
    {TN_TSTRING_RFC16, {CUT(64, TABLE_SIZE, 4), CUT(92, OFFSET_END, 2), CUT(121, OFFSET_END, 3)}},
    {TN_TSTRING_RFC24, {CUT(96, TABLE_SIZE, 4), CUT(124, OFFSET_END, 2), CUT(153, OFFSET_END, 3)}},
    {TN_TSTRING_LEGACY,
     {CUT(32, TABLE_SIZE, 4), CUT(33, LEGACY_OFFSET, 0), CUT(36, LEGACY_LENGTH, 0), CUT(37, LEGACY_OFFSET, 1),
      CUT(38, LEGACY_OFFSET, 2), CUT(66, LEGACY_LENGTH, 2), CUT(67, LEGACY_OFFSET, 3), CUT(96, LEGACY_LENGTH, 3)}},
    {TN_TSTRING_TFLITE,
     {CUT(24, TABLE_SIZE, 4), CUT(27, TFLITE_RANGE, 1), CUT(55, TFLITE_RANGE, 3), CUT(84, TFLITE_RANGE, 4)}},
    {TN_TSTRING_ARROW32,
     {CUT(20, TABLE_SIZE, 4), CUT(23, ARROW_RANGE, 0), CUT(51, ARROW_RANGE, 2), CUT(80, ARROW_RANGE, 3)}},
    {TN_TSTRING_ARROW64,
     {CUT(40, TABLE_SIZE, 4), CUT(43, ARROW_RANGE, 0), CUT(71, ARROW_RANGE, 2), CUT(100, ARROW_RANGE, 3)}},
};

/* The first bytes of a tensor, which end at the page without access. */
static tn_tstring_tensor_t cut_off(const written_t *written, const guard_page_t *guard, uint64_t length) {
  tn_tstring_tensor_t tensor = written->tensor;
  tensor.table = tensor.data = guard_page_copy(guard, written->bytes, length);
  if (tensor.table_size > length) tensor.table_size = length;
  tensor.data_size = length;
  if (is_arrow(tensor.layout)) {
    tensor.data += tensor.table_size;
    tensor.data_size -= tensor.table_size;
  }
  return tensor;
}

TEST(string_tensors_that_are_cut_off_anywhere_have_their_fault_and_are_not_read_beyond) {
  guard_page_t guard;
  CHECK(guard_page_open(&guard, CAPACITY));
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    written_t written;
    CHECK(write_tensor(&written, expected[i].layout));
    tn_tstring_sums_t sums;
    tn_tstring_fault_t fault;
    uint64_t length = 0;
    for (const cut_t *cut = expected[i].cuts; cut->below > 0; cut++) {
      for (; length < cut->below; length++) {
        const tn_tstring_tensor_t tensor = cut_off(&written, &guard, length);
        CHECK(tn_tstring_validate(&tensor, 0, CAPACITY, &sums, &fault) == TN_INVALID_ARGUMENT);
        CHECK(fault.check == cut->check && fault.index == cut->index);
        CHECK(reads(&tensor));
      }
    }
    const tn_tstring_tensor_t whole = cut_off(&written, &guard, length);
    CHECK(tn_tstring_validate(&whole, 1, CAPACITY, &sums, &fault) == TN_OK && sums.total == sizeof text - 1);
    CHECK(reads(&whole));
  }
  guard_page_close(&guard);
}

TEST(string_tensors_with_a_changed_byte_are_not_read_beyond) {
  guard_page_t guard;
  CHECK(guard_page_open(&guard, CAPACITY));
  for (int32_t layout = TN_TSTRING_TF; layout <= TN_TSTRING_ARROW64; layout++) {
    written_t written;
    CHECK(write_tensor(&written, layout));
    const uint64_t whole = written.tensor.data_size + (is_arrow(layout) ? written.tensor.table_size : 0);
    for (uint64_t i = 0; i < whole; i++) {
      for (uint32_t bit = 1; bit < 256; bit *= 2) {
        written.bytes[i] ^= (uint8_t)bit;
        const tn_tstring_tensor_t tensor = cut_off(&written, &guard, whole);
        CHECK(reads(&tensor));
        written.bytes[i] ^= (uint8_t)bit;
      }
    }
  }
  guard_page_close(&guard);
}

TEST(a_short_string_at_the_end_of_its_memory_is_copied_before_longer_ones_without_reading_beyond) {
  guard_page_t guard;
  CHECK(guard_page_open(&guard, CAPACITY));
  for (uint64_t size = 0; size < 40; size++) {
    /* The second string ends at the page, and is written first, with much room behind it. */
    const int64_t ends[3] = {0, 60, (int64_t)(60 + size)};
    char bytes[100];
    memset(bytes, 'x', sizeof bytes);
    const tn_tstring_tensor_t source = {.struct_size = sizeof source, .layout = TN_TSTRING_ARROW64, .count = 2, .table_size = sizeof ends,
                                        .data_size = 60 + size, .table = (const uint8_t *)ends, .data = guard_page_copy(&guard, (const uint8_t *)bytes, 60 + size)};
    static const uint32_t selection[2] = {1, 0};
    for (int32_t layout = TN_TSTRING_TF; layout <= TN_TSTRING_ARROW64; layout++) {
      tn_tstring_target_t target = {.struct_size = sizeof target, .layout = layout, .is_inline = 1};
      tn_tstring_fault_t fault;
      uint8_t out[CAPACITY];
      CHECK(tn_tstring_measure(&source, selection, 2, &target, &fault) == TN_OK);
      target.table = out;
      target.data = out + target.table_size;
      CHECK(tn_tstring_convert(&source, selection, 2, &target, &fault) == TN_OK);
    }
  }
  guard_page_close(&guard);
}
