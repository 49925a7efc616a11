/* Conversion to all layouts, and what reads the bytes of every element, against the model of the layouts. */
#include "check.h"
#include "tensor_model.h"

static tn_tstring_fault_t fault;
static model_t model;
static model_source_t source;

/* Memory around which bytes are watched. */
enum { ROOM = MODEL_BYTES + 24 * MODEL_STRINGS + 10 * MODEL_STRINGS, MARGIN = 64 };
static uint8_t memory[ROOM + 2 * MARGIN];

/* Sizes at which a layout, a copy or a varint changes its form. */
static const uint64_t edges[] = {0, 1, 2, 14, 15, 16, 17, 21, 22, 23, 24, 25, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 255, 300};
enum { EDGES = sizeof edges / sizeof *edges };

static void fill_model(uint64_t count, uint32_t seed) {
  memset(&model, 0, sizeof model);
  for (uint64_t i = 0; i < count; i++) model_add_random(&model, edges[model_random(&seed) % EDGES], &seed);
  model_source(&source, &model);
}

static bool is_arrow(int32_t layout) { return layout >= TN_TSTRING_ARROW32; }

/* Writes the model in a layout, between margins that must stay. */
static bool write_model(int32_t layout, int32_t abi, int32_t is_inline, tn_tstring_tensor_t *out) {
  const uint64_t table = model_table_size(layout, model.count), data = model_data_size(&model, layout, is_inline);
  tn_tstring_target_t target = {.struct_size = sizeof target, .layout = layout, .abi = abi, .is_inline = is_inline};
  if (tn_tstring_measure(&source.tensor, NULL, model.count, &target, &fault) != TN_OK) return false;
  if (target.table_size != table || target.data_size != data) return false;
  memset(memory, 0xa5, sizeof memory);
  target.table = memory + MARGIN;
  target.data = target.table + table;
  if (tn_tstring_convert(&source.tensor, NULL, model.count, &target, &fault) != TN_OK) return false;
  if (target.data_size != data || target.table_size != table) return false;
  for (uint64_t i = 0; i < MARGIN; i++)
    if (memory[i] != 0xa5 || memory[MARGIN + table + data + i] != 0xa5) return false;
  *out = (tn_tstring_tensor_t){
      .struct_size = sizeof *out,
      .layout = layout,
      .abi = abi,
      .count = model.count,
      .table_size = is_arrow(layout) ? table : table + data,
      .data_size = is_arrow(layout) ? data : table + data,
      .table = target.table,
      .data = is_arrow(layout) ? target.data : target.table,
  };
  return true;
}

static bool has_model_string(const tn_tstring_tensor_t *tensor, uint64_t index, uint64_t of) {
  static uint8_t out[400];
  uint64_t size = 0;
  memset(out, 0xee, sizeof out);
  if (tn_tstring_read(tensor, index, out, sizeof out, &size, &fault) != TN_OK || size != model.sizes[of]) return false;
  return memcmp(out, model.bytes + model.starts[of], size) == 0 && out[size] == 0xee;
}

static bool has_model(const tn_tstring_tensor_t *tensor) {
  for (uint64_t i = 0; i < model.count; i++)
    if (!has_model_string(tensor, i, i)) return false;
  return true;
}

static const uint64_t counts[] = {0, 1, 2, 15, 16, 17, 33, 64, 65, MODEL_STRINGS - 1};
enum { COUNTS = sizeof counts / sizeof *counts };

TEST(tensors_of_all_layouts_have_the_bytes_of_their_specification_and_are_read_back) {
  for (uint32_t round = 0; round < 3 * COUNTS; round++) {
    fill_model(counts[round % COUNTS], round + 1);
    for (int32_t layout = TN_TSTRING_TF; layout <= TN_TSTRING_ARROW64; layout++)
      for (int32_t abi = TN_TSTRING_LE64; abi <= TN_TSTRING_BE32; abi++)
        for (int32_t is_inline = 0; is_inline < 2; is_inline++) {
          const bool big_endian = abi == TN_TSTRING_BE64 || abi == TN_TSTRING_BE32;
          tn_tstring_tensor_t tensor;
          CHECK(write_model(layout, abi, is_inline, &tensor));
          CHECK(model_is_written(&model, layout, big_endian, is_inline, tensor.table));
          CHECK(has_model(&tensor));
          uint64_t total = 0, not_small = 0;
          for (uint64_t i = 0; i < model.count; i++) {
            total += model.sizes[i];
            not_small += model.sizes[i] > 22 ? model.sizes[i] : 0;
          }
          tn_tstring_sums_t sums = {1, 1};
          for (int32_t strict = 0; strict < 2; strict++) {
            CHECK(tn_tstring_validate(&tensor, strict, total, &sums, &fault) == TN_OK);
            CHECK(sums.total == total && sums.not_small == not_small);
            if (total == 0) continue;
            CHECK(tn_tstring_validate(&tensor, strict, total - 1, &sums, &fault) == TN_INVALID_ARGUMENT);
            CHECK(fault.check == TN_TSTRING_CHECK_BUDGET && fault.value == model.sizes[fault.index]);
            /* The last string that is not empty exceeds the budget by one byte. */
            CHECK(fault.limit == fault.value - 1 && model.starts[fault.index + 1] == total);
          }
        }
  }
}

TEST(a_tensor_of_any_layout_is_converted_to_any_other_and_in_the_order_of_a_selection) {
  static uint8_t other[ROOM];
  static uint32_t selection[2 * MODEL_STRINGS];
  fill_model(37, 99);
  uint64_t selected = 2 * model.count - 1;
  for (uint64_t i = 0; i < selected; i++) selection[i] = (uint32_t)(i * 7 % model.count);
  for (int32_t from = TN_TSTRING_TF; from <= TN_TSTRING_ARROW64; from++)
    for (int32_t to = TN_TSTRING_TF; to <= TN_TSTRING_ARROW64; to++)
      for (int32_t is_inline = 0; is_inline < 2; is_inline++) {
        tn_tstring_tensor_t tensor;
        CHECK(write_model(from, TN_TSTRING_BE64, is_inline, &tensor));
        tn_tstring_target_t target = {.struct_size = sizeof target, .layout = to, .abi = TN_TSTRING_BE32, .is_inline = !is_inline};
        CHECK(tn_tstring_measure(&tensor, selection, selected, &target, &fault) == TN_OK);
        CHECK(target.table_size + target.data_size <= sizeof other);
        target.table = other;
        target.data = other + target.table_size;
        CHECK(tn_tstring_convert(&tensor, selection, selected, &target, &fault) == TN_OK);
        const uint64_t whole = target.table_size + target.data_size;
        const tn_tstring_tensor_t written = {
            .struct_size = sizeof written,
            .layout = to,
            .abi = TN_TSTRING_BE32,
            .count = selected,
            .table_size = is_arrow(to) ? target.table_size : whole,
            .data_size = is_arrow(to) ? target.data_size : whole,
            .table = other,
            .data = is_arrow(to) ? target.data : other,
        };
        for (uint64_t i = 0; i < selected; i++) CHECK(has_model_string(&written, i, selection[i]));
      }
}

TEST(pointers_and_blocks_of_all_structs_have_the_strings) {
  static uint8_t other[ROOM];
  fill_model(37, 7);
  for (int32_t layout = TN_TSTRING_TF; layout <= TN_TSTRING_RFC24; layout++)
    for (int32_t form = TN_TSTRING_AS_POINTER; form <= TN_TSTRING_AS_BORROWED; form++)
      for (int32_t is_inline = 0; is_inline < 2; is_inline++) {
        tn_tstring_target_t target = {.struct_size = sizeof target, .layout = layout, .form = form, .is_inline = is_inline};
        CHECK(tn_tstring_measure(&source.tensor, NULL, model.count, &target, &fault) == TN_OK);
        CHECK(target.data_size == (form == TN_TSTRING_AS_POINTER ? model_data_size(&model, layout, is_inline) : 0));
        memset(memory, 0xa5, sizeof memory);
        target.table = memory;
        target.data = other;
        CHECK(tn_tstring_convert(&source.tensor, NULL, model.count, &target, &fault) == TN_OK);
        const uint64_t stride = model_stride(layout);
        tn_tstring_tensor_t tensor = {
            .struct_size = sizeof tensor, .layout = layout, .flags = TN_TSTRING_FOLLOW, .count = model.count,
            .table_size = target.table_size, .data_size = target.table_size, .table = memory, .data = memory};
        CHECK(has_model(&tensor) && memory[target.table_size] == 0xa5);
        uint64_t at = 0; /* of the next string that is a copy */
        for (uint64_t i = 0; i < model.count; i++) {
          const uint8_t *string = memory + i * stride;
          const uint64_t size = model.sizes[i];
          const bool is_small = size <= model_small(layout) && (is_inline || form == TN_TSTRING_AS_BLOCK);
          CHECK((string[0] & 3) == (is_small ? TN_TSTRING_SMALL : form == TN_TSTRING_AS_BLOCK ? TN_TSTRING_LARGE : TN_TSTRING_VIEW));
          if (is_small || form == TN_TSTRING_AS_BLOCK) continue;
          const uint8_t *expected = form == TN_TSTRING_AS_POINTER ? other + at : size == 0 ? NULL : model.bytes + model.starts[i];
          CHECK(model_word(string + 8, 8, false) == (uint64_t)(uintptr_t)expected);
          CHECK(layout == TN_TSTRING_TF ? model_word(string, 8, false) == (size << 2 | TN_TSTRING_VIEW)
                                        : model_word(string, 4, false) == (size << 2 | TN_TSTRING_PREALLOC) && model_word(string + 4, 4, false) == size);
          CHECK(stride == 16 || model_word(string + 16, 8, false) == 0);
          at += size;
        }
        tensor.flags = 0;
        uint64_t size;
        for (uint64_t i = 0; i < model.count; i++) {
          if ((memory[i * stride] & 3) == TN_TSTRING_SMALL) continue;
          CHECK(tn_tstring_read(&tensor, i, NULL, 0, &size, &fault) == TN_INVALID_ARGUMENT);
          CHECK(fault.check == TN_TSTRING_CHECK_STRUCT_TYPE && fault.index == i);
        }
        if (form == TN_TSTRING_AS_BLOCK) tn_tstring_dealloc_all(memory, model.count, layout);
      }
}

/* --- comparing, finding, hashing, UTF-8 ---------------------------------------------------------------------------- */

static int order_of(uint64_t a, uint64_t b) {
  const uint64_t shorter = model.sizes[a] < model.sizes[b] ? model.sizes[a] : model.sizes[b];
  for (uint64_t i = 0; i < shorter; i++) {
    const uint8_t left = model.bytes[model.starts[a] + i], right = model.bytes[model.starts[b] + i];
    if (left != right) return left < right ? -1 : 1;
  }
  return (model.sizes[a] > model.sizes[b]) - (model.sizes[a] < model.sizes[b]);
}

static const char *const words[] = {"", "a", "b", "ab", "aa", "a\xff", "\xff", "abc", "abd", "a", "ab", ""};
enum { WORDS = sizeof words / sizeof *words };

TEST(elements_are_compared_with_those_of_another_tensor_or_with_one) {
  memset(&model, 0, sizeof model);
  for (int i = 0; i < 40; i++) model_add(&model, words[i * 5 % WORDS], strlen(words[i * 5 % WORDS]));
  model_source(&source, &model);
  static uint32_t selection[40];
  int8_t out[41];
  for (uint64_t shift = 0; shift < 40; shift++) {
    for (uint64_t i = 0; i < 40; i++) selection[i] = (uint32_t)((i + shift) % 40);
    tn_tstring_target_t target = {.struct_size = sizeof target, .layout = TN_TSTRING_TFLITE};
    CHECK(tn_tstring_measure(&source.tensor, selection, 40, &target, &fault) == TN_OK);
    target.table = memory;
    target.data = memory + target.table_size;
    CHECK(tn_tstring_convert(&source.tensor, selection, 40, &target, &fault) == TN_OK);
    const uint64_t whole = target.table_size + target.data_size;
    tn_tstring_tensor_t other = {.struct_size = sizeof other, .layout = TN_TSTRING_TFLITE, .count = 40, .table_size = whole, .data_size = whole, .table = memory, .data = memory};
    memset(out, 9, sizeof out);
    CHECK(tn_tstring_compare(&source.tensor, &other, out, &fault) == TN_OK && out[40] == 9);
    for (uint64_t i = 0; i < 40; i++) CHECK(out[i] == order_of(i, selection[i]));
    const int64_t one[2] = {(int64_t)model.starts[shift], (int64_t)model.starts[shift + 1]};
    tn_tstring_tensor_t single = source.tensor;
    single.count = 1;
    single.table = (const uint8_t *)one;
    single.table_size = sizeof one;
    CHECK(tn_tstring_compare(&source.tensor, &single, out, &fault) == TN_OK);
    for (uint64_t i = 0; i < 40; i++) CHECK(out[i] == order_of(i, shift));
    uint64_t found = 0, expected = 3;
    while (expected < 40 && order_of(expected, shift) != 0) expected++;
    CHECK(tn_tstring_find(&source.tensor, model.bytes + one[0], model.sizes[shift], 3, &found, &fault) == TN_OK && found == expected);
  }
  tn_tstring_tensor_t shorter = source.tensor;
  shorter.count = 39;
  CHECK(tn_tstring_compare(&source.tensor, &shorter, out, &fault) == TN_INVALID_ARGUMENT && strstr(tn_last_error(), "other must have") != NULL);
  uint64_t absent = 0;
  CHECK(tn_tstring_find(&source.tensor, (const uint8_t *)"absent", 6, 0, &absent, &fault) == TN_OK && absent == 40);
  shorter.count = 0;
  CHECK(tn_tstring_compare(&shorter, &shorter, out, &fault) == TN_OK);
  tn_tstring_tensor_t cut = source.tensor;
  cut.table_size -= 8;
  CHECK(tn_tstring_compare(&cut, &source.tensor, out, &fault) == TN_INVALID_ARGUMENT && fault.check == TN_TSTRING_CHECK_TABLE_SIZE);
  CHECK(tn_tstring_compare(&source.tensor, &cut, out, &fault) == TN_INVALID_ARGUMENT && fault.check == TN_TSTRING_CHECK_TABLE_SIZE);
  source.offsets[20] = source.offsets[40] + 1;
  CHECK(tn_tstring_compare(&source.tensor, &source.tensor, out, &fault) == TN_INVALID_ARGUMENT && fault.index == 19);
  uint32_t hashes[40];
  CHECK(tn_tstring_hash(&source.tensor, 0, hashes, &fault) == TN_INVALID_ARGUMENT && fault.index == 19);
}

TEST(hashes_are_those_of_xxh32) {
  /* XXH32 of the first bytes of "0123456789..." by the reference implementation, with the seeds 0 and 0x9e3779b1. */
  static const struct {
    uint64_t size;
    uint32_t hashes[2];
  } expected[] = {
      {0, {0x02cc5d05u, 0x36b78ae7u}},
      {1, {0x48454cb2u, 0xc14134f4u}},
      {2, {0x034d0471u, 0x87e62ef2u}},
      {3, {0x48009497u, 0xa2ff873eu}},
      {4, {0x0a0b4c93u, 0x9b083421u}},
      {5, {0x8aa3b71cu, 0xca3dd305u}},
      {7, {0x1907ad24u, 0x85e3462bu}},
      {8, {0x189bbfbfu, 0xb7c10d19u}},
      {15, {0xee6827a2u, 0x0569be0eu}},
      {16, {0x945f2555u, 0xce62884du}},
      {17, {0x6a4d318cu, 0xa6be15c9u}},
      {19, {0x0f2f1e91u, 0x30b08de6u}},
      {20, {0x7183e10cu, 0xfb5f48e0u}},
      {31, {0x8615d540u, 0xe3881e79u}},
      {32, {0xfa57b070u, 0xa5876c82u}},
      {33, {0x04aafa54u, 0x47b67c9bu}},
      {47, {0x6692a5a1u, 0x493903d5u}},
      {48, {0xe0349a30u, 0xaa4ac825u}},
      {63, {0x97119f4eu, 0x1dfd6598u}},
      {64, {0xecc4f581u, 0x3abe23f7u}},
      {65, {0xfc5b74b2u, 0x08f848a7u}},
      {67, {0xdde23f6du, 0xb560ca5bu}},
      {100, {0xa93e3926u, 0x3435377cu}},
      {127, {0x068cbe70u, 0x1c2aaa1du}},
      {128, {0xf18e82b8u, 0xb8926c55u}},
  };
  memset(&model, 0, sizeof model);
  char text[128];
  for (size_t i = 0; i < sizeof text; i++) text[i] = (char)('0' + i % 10 + (i >= 64 ? 128 : 0));
  const uint64_t count = sizeof expected / sizeof *expected;
  for (uint64_t i = 0; i < count; i++) model_add(&model, text, expected[i].size);
  model_source(&source, &model);
  uint32_t out[sizeof expected / sizeof *expected + 1];
  for (int seed = 0; seed < 2; seed++) {
    out[count] = 7;
    CHECK(tn_tstring_hash(&source.tensor, seed == 0 ? 0 : 0x9e3779b1u, out, &fault) == TN_OK && out[count] == 7);
    for (uint64_t i = 0; i < count; i++) CHECK(out[i] == expected[i].hashes[seed]);
  }
}

/* The encoding of RFC 3629, by its table of well-formed sequences. Returns the length of the sequence, or 0. */
static uint64_t sequence(const uint8_t *at, uint64_t left) {
  static const uint8_t table[][5] = {
      {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3},
      {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};
  if (at[0] < 0x80) return 1;
  for (size_t row = 0; row < sizeof table / sizeof *table; row++) {
    if (at[0] < table[row][0] || at[0] > table[row][1]) continue;
    if (left < table[row][4] || at[1] < table[row][2] || at[1] > table[row][3]) return 0;
    for (uint64_t i = 2; i < table[row][4]; i++)
      if (at[i] < 0x80 || at[i] > 0xbf) return 0;
    return table[row][4];
  }
  return 0;
}

static bool is_utf8(const uint8_t *at, uint64_t size) {
  for (uint64_t done = 0, length; done < size; done += length)
    if ((length = sequence(at + done, size - done)) == 0) return false;
  return true;
}

TEST(strings_that_are_not_utf8_are_found) {
  static const uint8_t interesting[] = {0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf,
                                        0xe0, 0xe1, 0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff};
  enum { N = sizeof interesting };
  /* The sequence is at the end, in the middle, after eight and more bytes of ASCII, and behind the string. */
  static const struct {
    uint64_t before, size;
  } places[] = {{0, 4}, {0, 12}, {9, 13}, {9, 22}, {4, 12}, {8, 12}, {8, 8}};
  for (uint32_t i = 0; i < N * N * N * N; i++) {
    const uint8_t four[4] = {interesting[i / N / N / N], interesting[i / N / N % N], interesting[i / N % N], interesting[i % N]};
    const uint64_t place = i % (sizeof places / sizeof *places);
    uint8_t bytes[24];
    memset(bytes, 'x', sizeof bytes);
    memcpy(bytes + places[place].before, four, 4);
    for (uint64_t cut = 0; cut < 4; cut++) {
      const int64_t offsets[2] = {0, (int64_t)(places[place].size - (place % 2 == 0 && place < 4 ? cut : 0))};
      const tn_tstring_tensor_t tensor = {.struct_size = sizeof tensor, .layout = TN_TSTRING_ARROW64, .count = 1, .table_size = 16,
                                          .data_size = (uint64_t)offsets[1], .table = (const uint8_t *)offsets, .data = bytes};
      uint64_t index = 9;
      CHECK(tn_tstring_find_invalid_utf8(&tensor, 0, &index, &fault) == TN_OK);
      CHECK(index == (is_utf8(bytes, (uint64_t)offsets[1]) ? 1 : 0));
    }
  }
}
