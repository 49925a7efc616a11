/* validate.c, operand.c and the limits of convert.c: the fault of each check, just beyond its limit and not at it. */
#include "check.h"
#include "tensor_model.h"

static tn_tstring_fault_t fault;
static tn_tstring_sums_t sums;

#define FAULT_IS(name, at, found, most) \
  (fault.check == TN_TSTRING_CHECK_##name && fault.index == (at) && fault.value == (uint64_t)(found) && fault.limit == (uint64_t)(most))

static void put_word(uint8_t *at, uint64_t word, int size) {
  for (int i = 0; i < size; i++) at[i] = (uint8_t)(word >> (8 * i));
}

/* --- structs --------------------------------------------------------------------------------------------------------- */

/* More structs than two batches have. Each is an OFFSET of four bytes, and their bytes follow each other. */
enum { STRUCTS = 150, DATA = 4 * STRUCTS };

typedef struct {
  tn_tstring_tensor_t tensor;
  uint64_t stride, table;
  uint8_t bytes[24 * STRUCTS + DATA];
} structs_t;

static structs_t structs;

static void set_struct(uint64_t index, uint32_t type, uint64_t size, uint64_t start) {
  uint8_t *at = structs.bytes + index * structs.stride;
  memset(at, 0, structs.stride);
  put_word(at, size << 2 | type, 4);
  if (type != TN_TSTRING_SMALL) put_word(at + 4, start - index * structs.stride, 4);
}

static void fill_structs(int32_t layout) {
  structs.stride = model_stride(layout);
  structs.table = structs.stride * STRUCTS;
  for (uint64_t i = 0; i < STRUCTS; i++) set_struct(i, TN_TSTRING_OFFSET, 4, structs.table + 4 * i);
  const uint64_t whole = structs.table + DATA;
  structs.tensor = (tn_tstring_tensor_t){.struct_size = sizeof structs.tensor, .layout = layout, .count = STRUCTS, .table_size = whole,
                                         .data_size = whole, .table = structs.bytes, .data = structs.bytes};
}

static int32_t validate(int32_t strict) { return tn_tstring_validate(&structs.tensor, strict, 2 * DATA, &sums, &fault); }

static const uint64_t places[] = {0, 1, 63, 64, 65, 127, 128, STRUCTS - 1};
enum { PLACES = sizeof places / sizeof *places };

TEST(a_struct_with_a_fault_is_found_at_its_place) {
  for (int32_t layout = TN_TSTRING_TF; layout <= TN_TSTRING_RFC24; layout++)
    for (int place = 0; place < PLACES; place++) {
      const uint64_t i = places[place], small = model_small(layout);
      fill_structs(layout);
      const uint64_t table = structs.table, whole = table + DATA;
      CHECK(validate(1) == TN_OK && sums.total == DATA && sums.not_small == 0);

      set_struct(i, TN_TSTRING_OFFSET, 4, whole - 4);
      CHECK(validate(1) == TN_OK);
      set_struct(i, TN_TSTRING_OFFSET, 4, whole - 3);
      CHECK(validate(1) == TN_INVALID_ARGUMENT && FAULT_IS(OFFSET_END, i, whole + 1, whole));
      uint64_t size;
      CHECK(tn_tstring_read(&structs.tensor, i, NULL, 0, &size, &fault) == TN_INVALID_ARGUMENT && FAULT_IS(OFFSET_END, i, whole + 1, whole));
      set_struct(i, TN_TSTRING_OFFSET, 4, table - 1);
      CHECK(validate(1) == TN_INVALID_ARGUMENT && FAULT_IS(OFFSET_START, i, table - 1, table));
      set_struct(i, TN_TSTRING_OFFSET, 0, whole + 1);
      CHECK(validate(1) == TN_INVALID_ARGUMENT && FAULT_IS(OFFSET_END, i, whole + 1, whole));

      for (uint32_t type = TN_TSTRING_LARGE; type <= TN_TSTRING_VIEW; type += 2) {
        set_struct(i, type, 4, table);
        CHECK(validate(1) == TN_INVALID_ARGUMENT && FAULT_IS(STRUCT_TYPE, i, type, 0));
        CHECK(tn_tstring_read(&structs.tensor, i, NULL, 0, &size, &fault) == TN_INVALID_ARGUMENT && FAULT_IS(STRUCT_TYPE, i, type, 0));
      }

      set_struct(i, TN_TSTRING_SMALL, small, 0);
      CHECK(validate(1) == TN_OK);
      set_struct(i, TN_TSTRING_SMALL, small + 1, 0);
      CHECK(validate(1) == TN_INVALID_ARGUMENT && FAULT_IS(SMALL_SIZE, i, small + 1, small));
      CHECK(tn_tstring_read(&structs.tensor, i, NULL, 0, &size, &fault) == TN_INVALID_ARGUMENT && FAULT_IS(SMALL_SIZE, i, small + 1, small));

      /* Only the strings of TensorFlow end with a zero, and only this library writes it. */
      set_struct(i, TN_TSTRING_SMALL, 5, 0);
      structs.bytes[i * structs.stride + 7] = 9;
      CHECK(validate(1) == TN_OK);
      structs.bytes[i * structs.stride + 6] = 9;
      CHECK(validate(0) == TN_OK);
      CHECK(layout != TN_TSTRING_TF ? validate(1) == TN_OK : validate(1) == TN_INVALID_ARGUMENT && FAULT_IS(SMALL_NUL, i, 9, 5));

      set_struct(i, TN_TSTRING_OFFSET, 5, table);
      CHECK(tn_tstring_validate(&structs.tensor, 1, DATA + 1, &sums, &fault) == TN_OK);
      CHECK(tn_tstring_validate(&structs.tensor, 1, DATA, &sums, &fault) == TN_INVALID_ARGUMENT && fault.check == TN_TSTRING_CHECK_BUDGET);
      CHECK(fault.index == STRUCTS - 1 && fault.value == (i == STRUCTS - 1 ? 5 : 4) && fault.limit == fault.value - 1);
    }
}

TEST(sizes_above_22_bytes_are_added_up_separately) {
  fill_structs(TN_TSTRING_RFC24);
  for (uint64_t i = 0; i < STRUCTS; i++) set_struct(i, TN_TSTRING_SMALL, 0, 0);
  set_struct(3, TN_TSTRING_OFFSET, 22, structs.table);
  set_struct(70, TN_TSTRING_OFFSET, 23, structs.table + 30);
  set_struct(90, TN_TSTRING_SMALL, 23, 0);
  CHECK(validate(1) == TN_OK && sums.total == 68 && sums.not_small == 46);
  CHECK(tn_tstring_validate(&structs.tensor, 1, 68, &sums, &fault) == TN_OK);
  CHECK(tn_tstring_validate(&structs.tensor, 1, 67, &sums, &fault) == TN_INVALID_ARGUMENT && FAULT_IS(BUDGET, 90, 23, 22));
}

TEST(strings_of_a_writable_tensor_do_not_share_bytes) {
  for (int32_t layout = TN_TSTRING_TF; layout <= TN_TSTRING_RFC24; layout++) {
    fill_structs(layout);
    const uint64_t table = structs.table;
    structs.tensor.flags = TN_TSTRING_WRITABLE;
    CHECK(validate(1) == TN_OK);
    /* In another order, with gaps, and with strings without bytes anywhere. */
    for (uint64_t i = 0; i < STRUCTS; i++) set_struct(i, TN_TSTRING_OFFSET, i % 3, table + 4 * (STRUCTS - 1 - i));
    set_struct(20, TN_TSTRING_SMALL, 3, 0);
    CHECK(validate(1) == TN_OK);
    set_struct(40, TN_TSTRING_OFFSET, 4, table + 4 * (STRUCTS - 1 - 40));
    CHECK(validate(1) == TN_OK);
    /* The next string in the order of the bytes is that of the element before. */
    set_struct(40, TN_TSTRING_OFFSET, 5, table + 4 * (STRUCTS - 1 - 40));
    set_struct(39, TN_TSTRING_OFFSET, 1, table + 4 * (STRUCTS - 1 - 39));
    CHECK(validate(1) == TN_INVALID_ARGUMENT && FAULT_IS(OVERLAP, 39, table + 4 * (STRUCTS - 1 - 39), table + 4 * (STRUCTS - 1 - 39) + 1));
    fill_structs(layout);
    structs.tensor.flags = TN_TSTRING_WRITABLE;
    /* The string before reaches into the next one by one byte. */
    set_struct(30, TN_TSTRING_OFFSET, 5, table + 4 * 30);
    structs.tensor.flags = 0;
    CHECK(validate(1) == TN_OK);
    structs.tensor.flags = TN_TSTRING_WRITABLE;
    CHECK(validate(1) == TN_INVALID_ARGUMENT);
    CHECK(FAULT_IS(OVERLAP, 31, table + 4 * 31, table + 4 * 31 + 1));
    /* Two strings with the same start: the later element is named. */
    fill_structs(layout);
    structs.tensor.flags = TN_TSTRING_WRITABLE;
    set_struct(100, TN_TSTRING_OFFSET, 4, table + 4 * 7);
    CHECK(validate(1) == TN_INVALID_ARGUMENT && FAULT_IS(OVERLAP, 100, table + 4 * 7, table + 4 * 7 + 4));
    set_struct(100, TN_TSTRING_OFFSET, 0, table + 4 * 7);
    CHECK(validate(1) == TN_OK);
    set_struct(100, TN_TSTRING_OFFSET, 1, table + 4 * 7 + 3);
    CHECK(validate(1) == TN_INVALID_ARGUMENT && FAULT_IS(OVERLAP, 100, table + 4 * 7 + 3, table + 4 * 7 + 4));
  }
}

/* --- legacy ---------------------------------------------------------------------------------------------------------- */

/* One string of the legacy layout: its offset, and bytes. */
static int32_t validate_legacy(uint64_t offset, const char *bytes, uint64_t size, int32_t strict) {
  static uint8_t memory[64 + 20000];
  put_word(memory, offset, 8);
  memcpy(memory + 8, bytes, size);
  const tn_tstring_tensor_t tensor = {.struct_size = sizeof tensor, .layout = TN_TSTRING_LEGACY, .count = 1, .table_size = 8 + size,
                                      .data_size = 8 + size, .table = memory, .data = memory};
  uint64_t read_size = 0;
  tn_tstring_fault_t read_fault;
  const int32_t status = tn_tstring_validate(&tensor, strict, 1 << 30, &sums, &fault);
  const int32_t read = tn_tstring_read(&tensor, 0, NULL, 0, &read_size, &read_fault);
  if (strict) return status;
  /* Both accept the same strings, for the same reasons. */
  if (status != read || (status == TN_OK && read_size != sums.total)) return -1;
  return status == TN_OK || memcmp(&fault.check, &read_fault.check, sizeof fault - 4) == 0 ? status : -1;
}

TEST(lengths_of_the_legacy_layout_are_checked) {
  static char text[20000];
  CHECK(validate_legacy(0, "\3abc", 4, 0) == TN_OK && validate_legacy(0, "\3abc", 4, 1) == TN_OK && sums.total == 3);
  CHECK(validate_legacy(0, "\4abc", 4, 0) == TN_INVALID_ARGUMENT && FAULT_IS(LEGACY_LENGTH, 0, 4, 3));
  CHECK(validate_legacy(4, "\3abc", 4, 0) == TN_INVALID_ARGUMENT && FAULT_IS(LEGACY_OFFSET, 0, 4, 4));
  CHECK(validate_legacy(3, "\0\0\0\0", 4, 0) == TN_OK);
  CHECK(validate_legacy(3, "\0\0\0\0", 4, 1) == TN_INVALID_ARGUMENT && FAULT_IS(LEGACY_TIGHT, 0, 3, 0));
  CHECK(validate_legacy(0, "\2abc", 4, 0) == TN_OK);
  CHECK(validate_legacy(0, "\2abc", 4, 1) == TN_INVALID_ARGUMENT && FAULT_IS(LEGACY_TIGHT, 1, 4, 3));
  /* Lengths that are longer than they need to be. */
  CHECK(validate_legacy(0, "\x82\0ab", 4, 0) == TN_OK && sums.total == 2);
  CHECK(validate_legacy(0, "\x82\0ab", 4, 1) == TN_INVALID_ARGUMENT && FAULT_IS(VARINT_CANONICAL, 0, 2, 1));
  CHECK(validate_legacy(0, "\x81\x80\x00z", 4, 0) == TN_OK && sums.total == 1);
  CHECK(validate_legacy(0, "\x81\x80\x00z", 4, 1) == TN_INVALID_ARGUMENT && FAULT_IS(VARINT_CANONICAL, 0, 3, 1));
  CHECK(validate_legacy(0, "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 10, 0) == TN_OK && sums.total == 0);
  /* Lengths that do not end: by the end of the tensor, or after ten bytes. */
  CHECK(validate_legacy(0, "\x82", 1, 0) == TN_INVALID_ARGUMENT && FAULT_IS(VARINT, 0, 0, 1));
  CHECK(validate_legacy(0, "\x82\x82", 2, 0) == TN_INVALID_ARGUMENT && FAULT_IS(VARINT, 0, 0, 2));
  CHECK(validate_legacy(0, "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 11, 0) == TN_INVALID_ARGUMENT && FAULT_IS(VARINT, 0, 0, 11));
  CHECK(validate_legacy(0, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, 0) == TN_INVALID_ARGUMENT && FAULT_IS(LEGACY_LENGTH, 0, UINT64_MAX, 0));
  /* A length of two, and of three bytes. */
  for (uint64_t size = 126; size < 17000; size += size < 130 || (size > 16380 && size < 16390) ? 1 : 2707) {
    uint64_t at = 0;
    memset(text, 'x', sizeof text);
    uint64_t rest = size;
    for (; rest >= 128; rest /= 128) text[at++] = (char)(rest % 128 | 128);
    text[at++] = (char)rest;
    CHECK(validate_legacy(0, text, at + size, 1) == TN_OK && sums.total == size && validate_legacy(0, text, at + size, 0) == TN_OK);
    CHECK(validate_legacy(0, text, at + size - 1, 0) == TN_INVALID_ARGUMENT && FAULT_IS(LEGACY_LENGTH, 0, size, size - 1));
  }
}

/* --- TFLite and Arrow ------------------------------------------------------------------------------------------------ */

static int32_t validate_tflite(const uint32_t *words, uint64_t word_count, uint64_t count, uint64_t size, int32_t strict) {
  static uint8_t memory[64];
  for (uint64_t i = 0; i < word_count; i++) put_word(memory + 4 * i, words[i], 4);
  const tn_tstring_tensor_t tensor = {.struct_size = sizeof tensor, .layout = TN_TSTRING_TFLITE, .count = count, .table_size = size,
                                      .data_size = size, .table = memory, .data = memory};
  return tn_tstring_validate(&tensor, strict, 10, &sums, &fault);
}

#define TFLITE(count, size, strict, ...) validate_tflite((const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / 4, count, size, strict)

TEST(the_header_of_tflite_is_checked) {
  CHECK(TFLITE(2, 22, 1, 2, 16, 19, 22) == TN_OK && sums.total == 6);
  CHECK(TFLITE(2, 22, 0, 3, 16, 19, 22) == TN_INVALID_ARGUMENT && FAULT_IS(TFLITE_COUNT, 0, 3, 2));
  CHECK(TFLITE(2, 22, 0, 0x7ffffffe, 16, 19, 22) == TN_INVALID_ARGUMENT && FAULT_IS(TFLITE_COUNT, 0, 0x7ffffffe, 0x7ffffffd));
  CHECK(TFLITE(2, 22, 0, 0x7ffffffd, 16, 19, 22) == TN_INVALID_ARGUMENT && FAULT_IS(TFLITE_COUNT, 0, 0x7ffffffd, 2));
  CHECK(TFLITE(2, 22, 0, 2, 15, 19, 22) == TN_INVALID_ARGUMENT && FAULT_IS(TFLITE_RANGE, 0, 15, 22));
  CHECK(TFLITE(2, 22, 0, 2, 16, 19, 23) == TN_INVALID_ARGUMENT && FAULT_IS(TFLITE_RANGE, 2, 23, 22));
  CHECK(TFLITE(2, 22, 0, 2, 16, 0x80000000, 22) == TN_INVALID_ARGUMENT && FAULT_IS(TFLITE_RANGE, 1, 0x80000000, 22));
  CHECK(TFLITE(2, 22, 0, 2, 19, 18, 22) == TN_INVALID_ARGUMENT && FAULT_IS(TFLITE_ORDER, 1, 18, 19));
  CHECK(TFLITE(2, 22, 0, 2, 17, 19, 21) == TN_OK && sums.total == 4);
  CHECK(TFLITE(2, 22, 1, 2, 17, 19, 22) == TN_INVALID_ARGUMENT && FAULT_IS(TFLITE_FIRST, 0, 17, 16));
  CHECK(TFLITE(2, 22, 1, 2, 16, 19, 21) == TN_INVALID_ARGUMENT && FAULT_IS(TFLITE_TOTAL, 2, 21, 22));
  CHECK(TFLITE(2, 27, 0, 2, 16, 19, 27) == TN_INVALID_ARGUMENT && FAULT_IS(BUDGET, 1, 8, 7));
  CHECK(TFLITE(2, 26, 0, 2, 16, 19, 26) == TN_OK && sums.total == 10);
  CHECK(TFLITE(2, 15, 0, 2, 16, 19, 26) == TN_INVALID_ARGUMENT && FAULT_IS(TABLE_SIZE, 2, 15, 4));
  CHECK(TFLITE(0, 0, 0, 0) == TN_OK && TFLITE(0, 4, 0, 0) == TN_OK && TFLITE(0, 8, 0, 0, 99) == TN_OK);
  CHECK(TFLITE(0, 0, 1, 0) == TN_INVALID_ARGUMENT && FAULT_IS(TFLITE_HEADER, 0, 0, 8));
  CHECK(TFLITE(0, 4, 1, 0) == TN_INVALID_ARGUMENT && FAULT_IS(TFLITE_HEADER, 0, 4, 8));
  CHECK(TFLITE(0, 8, 1, 0, 8) == TN_OK && TFLITE(0, 3, 0, 0) == TN_INVALID_ARGUMENT);
  CHECK(TFLITE(0, 8, 1, 0, 9) == TN_INVALID_ARGUMENT && FAULT_IS(TFLITE_RANGE, 0, 9, 8));
}

static int32_t validate_arrow(const int64_t *offsets, uint64_t count, uint64_t data_size) {
  static int32_t narrow[40];
  for (uint64_t i = 0; i <= count; i++) narrow[i] = (int32_t)offsets[i];
  const tn_tstring_tensor_t wide = {.struct_size = sizeof wide, .layout = TN_TSTRING_ARROW64, .count = count, .table_size = 8 * count + 8,
                                    .data_size = data_size, .table = (const uint8_t *)offsets, .data = (const uint8_t *)narrow};
  tn_tstring_tensor_t thin = wide;
  thin.layout = TN_TSTRING_ARROW32;
  thin.table_size = 4 * count + 4;
  thin.table = (const uint8_t *)narrow;
  tn_tstring_fault_t other;
  const int32_t status = tn_tstring_validate(&thin, 1, 100, &sums, &other);
  return tn_tstring_validate(&wide, 1, 100, &sums, &fault) == status && (status == TN_OK || (fault.check == other.check && fault.index == other.index)) ? status : -1;
}

TEST(offsets_of_arrow_are_in_order_and_inside) {
  int64_t offsets[37];
  for (uint64_t place = 0; place < 35; place += 5) {
    for (int64_t i = 0; i < 37; i++) offsets[i] = 2 * i;
    CHECK(validate_arrow(offsets, 36, 72) == TN_OK && sums.total == 72);
    CHECK(validate_arrow(offsets, 36, 71) == TN_INVALID_ARGUMENT && FAULT_IS(ARROW_RANGE, 35, 72, 71));
    offsets[place] = 2 * (int64_t)place + 3;
    CHECK(validate_arrow(offsets, 36, 72) == TN_INVALID_ARGUMENT && FAULT_IS(ARROW_ORDER, place, 2 * place + 3, 2 * place + 2));
    offsets[place] = -1;
    CHECK(validate_arrow(offsets, 36, 72) == TN_INVALID_ARGUMENT && fault.index == (place == 0 ? 0 : place - 1));
    for (int64_t i = 0; i < 37; i++) offsets[i] = i < (int64_t)place ? 0 : i == (int64_t)place ? 0 : 101;
    CHECK(validate_arrow(offsets, 36, 200) == TN_INVALID_ARGUMENT && FAULT_IS(BUDGET, place, 101, 100));
  }
}

/* --- limits of targets, of sources whose bytes are never read ---------------------------------------------------------- */

static int32_t measure(tn_tstring_target_t *target, const int64_t *offsets, uint64_t count) {
  const tn_tstring_tensor_t tensor = {.struct_size = sizeof tensor, .layout = TN_TSTRING_ARROW64, .count = count, .table_size = 8 * count + 8,
                                      .data_size = INT64_MAX, .table = (const uint8_t *)offsets, .data = (const uint8_t *)offsets};
  return tn_tstring_measure(&tensor, NULL, count, target, &fault);
}

TEST(a_string_that_is_too_long_for_a_struct_is_refused) {
  static const struct {
    int32_t layout, form;
    int64_t most;
  } rows[] = {
      {TN_TSTRING_TF, TN_TSTRING_AS_OFFSET, 0x3fffffff},      {TN_TSTRING_RFC16, TN_TSTRING_AS_OFFSET, 0x3fffffff},
      {TN_TSTRING_RFC24, TN_TSTRING_AS_OFFSET, 0x3fffffff},   {TN_TSTRING_TF, TN_TSTRING_AS_POINTER, INT64_MAX / 2},
      {TN_TSTRING_RFC16, TN_TSTRING_AS_POINTER, 0x3fffffff},  {TN_TSTRING_RFC24, TN_TSTRING_AS_BORROWED, 0x3fffffff},
      {TN_TSTRING_RFC16, TN_TSTRING_AS_BLOCK, INT64_MAX / 2}, {TN_TSTRING_TF, TN_TSTRING_AS_BORROWED, INT64_MAX / 2},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    tn_tstring_target_t target = {.struct_size = sizeof target, .layout = rows[i].layout, .form = rows[i].form, .is_inline = 1};
    const bool copies = rows[i].form <= TN_TSTRING_AS_POINTER;
    CHECK(measure(&target, (int64_t[]){0, 0x3fffffff, 0x40000000}, 2) == TN_OK);
    CHECK(target.data_size == (copies ? 0x3fffffffu : 0) && target.table_size == 2 * model_stride(rows[i].layout));
    const int32_t status = measure(&target, (int64_t[]){0, 1, 0x40000001}, 2);
    CHECK(rows[i].most > 0x3fffffff ? status == TN_OK : status == TN_INVALID_ARGUMENT && FAULT_IS(STRING_LIMIT, 1, 0x40000000, 0x3fffffff));
  }
}

TEST(a_tensor_that_is_too_long_for_its_offsets_is_refused) {
  tn_tstring_target_t target = {.struct_size = sizeof target, .layout = TN_TSTRING_ARROW32};
  CHECK(measure(&target, (int64_t[]){0, 1, 0x7fffffff}, 2) == TN_OK && target.data_size == 0x7fffffff);
  CHECK(measure(&target, (int64_t[]){0, 1, 0x80000000}, 2) == TN_INVALID_ARGUMENT && FAULT_IS(TOTAL_LIMIT, 1, 0x80000000, 0x7fffffff));
  target.layout = TN_TSTRING_TFLITE;
  CHECK(measure(&target, (int64_t[]){0, 1, 0x7fffffff - 16}, 2) == TN_OK && target.data_size == 0x7fffffff - 16);
  CHECK(measure(&target, (int64_t[]){0, 1, 0x7ffffff0}, 2) == TN_INVALID_ARGUMENT && FAULT_IS(TOTAL_LIMIT, 1, 0x80000000, 0x7fffffff));
  target.layout = TN_TSTRING_ARROW64;
  CHECK(measure(&target, (int64_t[]){0, 1, 0x80000000}, 2) == TN_OK && target.data_size == 0x80000000);
  target.layout = TN_TSTRING_LEGACY;
  CHECK(measure(&target, (int64_t[]){0, 127, 127 + 128}, 2) == TN_OK && target.data_size == 255 + 1 + 2);
  CHECK(measure(&target, (int64_t[]){0, INT64_MAX - 9}, 1) == TN_OK && target.data_size == INT64_MAX);
  CHECK(measure(&target, (int64_t[]){0, INT64_MAX - 8}, 1) == TN_INVALID_ARGUMENT && FAULT_IS(TOTAL_LIMIT, 0, (uint64_t)INT64_MAX + 1, INT64_MAX));
  /* The distance from a struct to its bytes has 32 bits. */
  target.layout = TN_TSTRING_TF;
  const int64_t most = 0x3fffffff, last = 0xffffffff - 24;
  CHECK(measure(&target, (int64_t[]){0, most, 2 * most, 3 * most, last, last + 1}, 5) == TN_OK);
  CHECK(measure(&target, (int64_t[]){0, most, 2 * most, 3 * most, last + 1, last + 2}, 5) == TN_INVALID_ARGUMENT);
  CHECK(FAULT_IS(DISTANCE_LIMIT, 4, 0x100000000, 0xffffffff));
  CHECK(measure(&target, (int64_t[]){0, most, 2 * most, 3 * most, last + 1, last + 1}, 5) == TN_INVALID_ARGUMENT);
  target.form = TN_TSTRING_AS_POINTER;
  CHECK(measure(&target, (int64_t[]){0, most, 2 * most, 3 * most, last + 1, last + 2}, 5) == TN_OK);
  /* SMALL strings before and after the others have no distance, and add a struct to that of the others. */
  target.form = TN_TSTRING_AS_OFFSET;
  target.is_inline = 1;
  int64_t offsets[23];
  for (int64_t excess = 0; excess < 2; excess++) {
    for (int64_t i = 0; i <= 16; i++) offsets[i] = 0;
    for (int64_t i = 17; i <= 19; i++) offsets[i] = (i - 16) * most;
    offsets[20] = 0xffffffff - 2 * 24 + excess;
    offsets[21] = offsets[20] + 30;
    offsets[22] = offsets[21] + 1;
    CHECK(measure(&target, offsets, 22) == (excess == 0 ? TN_OK : TN_INVALID_ARGUMENT));
    CHECK(excess == 0 ? target.data_size == (uint64_t)offsets[21] : FAULT_IS(DISTANCE_LIMIT, 20, 0x100000000, 0xffffffff));
  }
}

TEST(targets_are_checked_before_their_source) {
  tn_tstring_target_t target = {.struct_size = sizeof target, .layout = TN_TSTRING_RFC16, .form = -1};
  CHECK(measure(&target, (int64_t[]){0, 1}, 1) == TN_INVALID_ARGUMENT && strstr(tn_last_error(), "form must be from 0 to 3") != NULL);
  /* Layouts without structs have no form. */
  target.layout = TN_TSTRING_LEGACY;
  CHECK(measure(&target, (int64_t[]){0, 1}, 1) == TN_OK && target.data_size == 2);
  target.layout = TN_TSTRING_TFLITE;
  const tn_tstring_tensor_t empty = {.struct_size = sizeof empty, .layout = TN_TSTRING_ARROW64};
  const uint64_t count = 0x20000000, header = 4 * count + 8;
  CHECK(tn_tstring_measure(&empty, NULL, count, &target, &fault) == TN_INVALID_ARGUMENT && FAULT_IS(TOTAL_LIMIT, count, header, 0x7fffffff));
}

/* --- operands of kernels --------------------------------------------------------------------------------------------- */

TEST(pointers_of_an_operand_must_lie_in_its_memory) {
  static uint8_t heap[400];
  const tn_tstring_range_t ranges[] = {{(uintptr_t)heap + 10, (uintptr_t)heap + 20}, {(uintptr_t)heap + 30, (uintptr_t)heap + 40}, {(uintptr_t)heap + 50, (uintptr_t)heap + 60},
                                       {(uintptr_t)heap + 70, (uintptr_t)heap + 80}};
  for (int32_t layout = TN_TSTRING_TF; layout <= TN_TSTRING_RFC24; layout++) {
    const uint64_t stride = model_stride(layout);
    uint8_t table[72] = {0};
    tn_tstring_tensor_t tensor = {.struct_size = sizeof tensor, .layout = layout, .count = 3, .table_size = 3 * stride, .data_size = 3 * stride, .table = table, .data = table};
    uint8_t *const string = table + stride;
    for (uint64_t start = 0; start < 90; start++)
      for (uint64_t size = 0; size < 12; size++) {
        put_word(string, size << 2 | TN_TSTRING_VIEW, layout == TN_TSTRING_TF ? 8 : 4);
        put_word(string + 8, (uintptr_t)heap + start, 8);
        for (uint64_t count = 0; count <= 4; count++) {
          bool is_inside = size == 0;
          for (uint64_t i = 0; i < count; i++)
            if ((uintptr_t)heap + start >= ranges[i].start && (uintptr_t)heap + start + size <= ranges[i].end) is_inside = true;
          const int32_t status = tn_tstring_check_operand(&tensor, ranges, count, &fault);
          CHECK(is_inside ? status == TN_OK : status == TN_INVALID_ARGUMENT && FAULT_IS(POINTER, 1, (uintptr_t)heap + start, size));
        }
      }
    if (layout == TN_TSTRING_TF) {
      put_word(string, 4 << 2 | TN_TSTRING_VIEW, 8);
      put_word(string + 8, (uintptr_t)heap + 12, 8);
      CHECK(tn_tstring_check_operand(&tensor, ranges, 4, &fault) == TN_OK);
      put_word(string + 16, 77, 8);
      CHECK(tn_tstring_check_operand(&tensor, ranges, 4, &fault) == TN_INVALID_ARGUMENT && FAULT_IS(POINTER, 1, 77, 0));
    }
    put_word(string, 4 << 2 | TN_TSTRING_LARGE, 8);
    put_word(string + stride - 8, (uintptr_t)heap + 32, 8);
    CHECK(tn_tstring_check_operand(&tensor, ranges, 4, &fault) == TN_INVALID_ARGUMENT && FAULT_IS(STRUCT_TYPE, 1, TN_TSTRING_LARGE, 0));
    put_word(string, 60 << 2 | TN_TSTRING_SMALL, 1);
    CHECK(tn_tstring_check_operand(&tensor, ranges, 4, &fault) == TN_INVALID_ARGUMENT && fault.check == TN_TSTRING_CHECK_SMALL_SIZE && fault.index == 1);
    put_word(string, 9 << 2 | TN_TSTRING_OFFSET, 4);
    put_word(string + 4, 3 * stride, 4);
    CHECK(tn_tstring_check_operand(&tensor, ranges, 4, &fault) == TN_INVALID_ARGUMENT && fault.check == TN_TSTRING_CHECK_OFFSET_END && fault.index == 1);
    /* With FOLLOW, any pointer but null. */
    tensor.flags = TN_TSTRING_FOLLOW;
    put_word(string, 4 << 2 | TN_TSTRING_VIEW, 8);
    put_word(string + 8, (uintptr_t)heap, 8);
    CHECK(tn_tstring_check_operand(&tensor, NULL, 0, &fault) == TN_OK);
    put_word(string + 8, 0, 8);
    CHECK(tn_tstring_check_operand(&tensor, NULL, 0, &fault) == TN_INVALID_ARGUMENT && FAULT_IS(POINTER, 1, 0, 4));
    tensor.abi = TN_TSTRING_BE64;
    CHECK(tn_tstring_check_operand(&tensor, NULL, 0, &fault) == TN_INVALID_ARGUMENT && strstr(tn_last_error(), "structs of this machine") != NULL);
  }
  const tn_tstring_tensor_t arrow = {.struct_size = sizeof arrow, .layout = TN_TSTRING_ARROW64};
  CHECK(tn_tstring_check_operand(&arrow, NULL, 0, &fault) == TN_INVALID_ARGUMENT && strstr(tn_last_error(), "structs of this machine") != NULL);
}

TEST(ranges_and_structs_outside_their_lists_are_not_read) {
  static uint8_t heap[40];
  /* The entries before and after the list would allow everything. */
  const tn_tstring_range_t ranges[] = {{0, UINT64_MAX}, {(uintptr_t)heap + 10, (uintptr_t)heap + 20}, {0, UINT64_MAX}};
  uint8_t table[24] = {0};
  tn_tstring_tensor_t tensor = {.struct_size = sizeof tensor, .count = 1, .table_size = 24, .data_size = 24, .table = table, .data = table};
  put_word(table, 4 << 2 | TN_TSTRING_VIEW, 8);
  for (uint64_t start = 0; start < 30; start++) {
    put_word(table + 8, (uintptr_t)heap + start, 8);
    CHECK(tn_tstring_check_operand(&tensor, ranges + 1, 0, &fault) == TN_INVALID_ARGUMENT);
    CHECK((tn_tstring_check_operand(&tensor, ranges + 1, 1, &fault) == TN_OK) == (start >= 10 && start <= 16));
  }
  tensor.table_size = 23;
  CHECK(tn_tstring_check_operand(&tensor, ranges, 0, &fault) == TN_INVALID_ARGUMENT && FAULT_IS(TABLE_SIZE, 1, 23, 24));
}
