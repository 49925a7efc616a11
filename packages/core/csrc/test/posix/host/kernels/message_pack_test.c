/* host/kernels/message_pack.c and id_table.c. */
#include <math.h>

#include "host/kernels/id_table.h"
#include "support.h"

static tn__pack_item_t read_one(const tn__pack_writer_t *writer, bool *is_whole) {
  tn__pack_reader_t reader = {writer->bytes, writer->used};
  tn__pack_item_t item;
  *is_whole = tn__pack_read(&reader, &item) && reader.left == 0;
  return item;
}

TEST(host_message_pack_reads_every_number_that_it_has_written) {
  const int64_t numbers[] = {0,         1,          127,       128,        -1,        -32,       -33,      255,
                             256,       65535,      65536,     INT32_MAX,  INT32_MIN, INT64_MAX, INT64_MIN, -129};
  bool is_whole;
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    tn__pack_writer_t writer = tn__pack_writer(NULL, 0);
    tn__pack_int(&writer, numbers[i]);
    const tn__pack_item_t item = read_one(&writer, &is_whole);
    CHECK(is_whole && item.kind == TN__PACK_INT && item.integer == numbers[i]);
    tn__pack_free(&writer);
  }
  const double doubles[] = {0.0, -0.0, 1.5, INFINITY, -1e308, 5e-324};
  for (size_t i = 0; i < sizeof doubles / sizeof *doubles; i++) {
    tn__pack_writer_t writer = tn__pack_writer(NULL, 0);
    tn__pack_float(&writer, doubles[i]);
    const tn__pack_item_t item = read_one(&writer, &is_whole);
    CHECK(is_whole && item.kind == TN__PACK_FLOAT && memcmp(&item.number, &doubles[i], 8) == 0);
    tn__pack_free(&writer);
  }
}

TEST(host_message_pack_reads_all_codes_of_other_writers) {
  const struct {
    const char *bytes;
    size_t size;
    int64_t value;
  } codes[] = {{"\xcc\xff", 2, 255},
               {"\xcd\xff\xfe", 3, 65534},
               {"\xce\xff\xff\xff\xff", 5, UINT32_MAX},
               {"\xcf\x7f\xff\xff\xff\xff\xff\xff\xff", 9, INT64_MAX},
               {"\xd0\x80", 2, -128},
               {"\xd1\xff\x00", 3, -256},
               {"\xe0", 1, -32},
               {"\x7f", 1, 127}};
  tn__pack_item_t item;
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
    tn__pack_reader_t reader = {(const uint8_t *)codes[i].bytes, codes[i].size};
    CHECK(tn__pack_read(&reader, &item) && item.kind == TN__PACK_INT && item.integer == codes[i].value);
  }
  tn__pack_reader_t too_large = {(const uint8_t *)"\xcf\x80\0\0\0\0\0\0\0", 9};
  CHECK(!tn__pack_read(&too_large, &item));
  tn__pack_reader_t single = {(const uint8_t *)"\xca\x3f\xc0\0\0", 5};
  CHECK(tn__pack_read(&single, &item) && item.kind == TN__PACK_FLOAT && item.number == 1.5);
  tn__pack_reader_t fixext = {(const uint8_t *)"\xd6\x05\1\2\3\4", 6};
  CHECK(tn__pack_read(&fixext, &item) && item.kind == TN__PACK_EXT && item.type == 5 && item.size == 4);
  tn__pack_reader_t unused = {(const uint8_t *)"\xc1", 1};
  CHECK(!tn__pack_read(&unused, &item));
}

/* Writes one of everything. */
static void write_all(tn__pack_writer_t *writer) {
  char text[300];
  memset(text, 'a', sizeof text);
  tn__pack_nil(writer);
  tn__pack_bool(writer, true);
  tn__pack_str(writer, text, 5);
  tn__pack_str(writer, text, sizeof text);
  tn__pack_bin(writer, text, sizeof text);
  tn__pack_array(writer, 3);
  tn__pack_array(writer, 70000);
  tn__pack_map(writer, 20);
  tn__pack_ext(writer, -1, 300);
  tn__pack_raw(writer, text, 300);
}

TEST(host_message_pack_grows_and_refuses_every_message_that_ends_early) {
  uint8_t few[16];
  tn__pack_writer_t writer = tn__pack_writer(few, sizeof few);
  write_all(&writer);
  CHECK(!writer.has_failed && writer.is_own);
  tn__pack_reader_t reader = {writer.bytes, writer.used};
  tn__pack_item_t item;
  size_t count = 0;
  for (; reader.left > 0; count++) CHECK(tn__pack_read(&reader, &item));
  CHECK(count == 9 && item.kind == TN__PACK_EXT && item.type == -1 && item.size == 300);
  for (size_t size = 0; size < writer.used; size++) {
    /* A copy of exactly this size, so that a sanitizer sees what is read behind it. */
    uint8_t *copy = malloc(size + (size == 0));
    memcpy(copy, writer.bytes, size);
    reader = (tn__pack_reader_t){copy, size};
    while (tn__pack_read(&reader, &item)) continue;
    free(copy);
  }
  tn__pack_free(&writer);
}

TEST(host_message_pack_survives_random_bytes) {
  uint64_t random = 88172645463325252u;
  uint8_t bytes[64];
  for (int round = 0; round < 20000; round++) {
    for (size_t i = 0; i < sizeof bytes; i++) {
      random ^= random << 13, random ^= random >> 7, random ^= random << 17;
      bytes[i] = (uint8_t)random;
    }
    tn__pack_reader_t reader = {bytes, sizeof bytes};
    tn__pack_item_t item;
    while (tn__pack_read(&reader, &item)) continue;
    CHECK(reader.left <= sizeof bytes);
  }
}

TEST(host_id_table_finds_what_was_added_and_nothing_else) {
  enum { IDS = 4096 };
  static int values[IDS];
  static bool is_there[IDS];
  tn__id_table_t table = {NULL, 0, 0};
  uint64_t random = 1;
  size_t count = 0;
  CHECK(tn__id_find(&table, 0) == NULL && tn__id_remove(&table, 0) == NULL);
  for (int round = 0; round < 200000; round++) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    /* Ids that collide: many have the same low bits. */
    const uint32_t index = (uint32_t)(random >> 33) % IDS, id = index % 64 << 20 | index / 64;
    if (is_there[index]) {
      CHECK(tn__id_find(&table, id) == &values[index] && tn__id_remove(&table, id) == &values[index]);
      count--;
    } else {
      CHECK(tn__id_find(&table, id) == NULL && tn__id_remove(&table, id) == NULL);
      CHECK(tn__id_add(&table, id, &values[index]));
      count++;
    }
    is_there[index] = !is_there[index];
    CHECK(table.count == count);
  }
  for (uint32_t index = 0; index < IDS; index++)
    CHECK((tn__id_find(&table, index % 64 << 20 | index / 64) != NULL) == is_there[index]);
  free(table.entries);
}
