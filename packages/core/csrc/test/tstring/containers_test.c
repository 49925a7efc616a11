/* rfc.c: what an assignment and a move write to each container (SMALL, OFFSET, PREALLOC) and to the block of a LARGE. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "heap.h"
#include "tenon_tstring.h"

static const int32_t layouts[] = {TN_TSTRING_RFC16, TN_TSTRING_RFC24};

static size_t size_of(int32_t layout) { return layout == TN_TSTRING_RFC16 ? 16 : 24; }

static uint64_t word_at(const uint8_t *at, int size) {
  uint64_t word = 0;
  for (int i = 0; i < size; i++) word |= (uint64_t)at[i] << (8 * i);
  return word;
}

static void put_word(uint8_t *at, uint64_t word, int size) {
  for (int i = 0; i < size; i++) at[i] = (uint8_t)(word >> (8 * i));
}

static char text[400];

static void fill_text(void) {
  for (size_t i = 0; i < sizeof text; i++) text[i] = (char)('a' + i % 26);
}

/* The words of a LARGE: its size, in the larger struct its capacity, and its pointer. */
static int is_large(const uint8_t *string, int32_t layout, size_t size) {
  if (word_at(string, 8) != (size << 2 | TN_TSTRING_LARGE)) return 0;
  if (layout == TN_TSTRING_RFC24 && word_at(string + 8, 8) < size) return 0;
  const char *characters = (const char *)(uintptr_t)word_at(string + size_of(layout) - 8, 8);
  return memcmp(characters, text, size) == 0 && characters[size] == 0;
}

static int is_small(const uint8_t *string, int32_t layout, size_t size) {
  if (string[0] != size << 2 || memcmp(string + 1, text, size) != 0) return 0;
  for (size_t i = size + 1; i < size_of(layout); i++)
    if (string[i] != 0) return 0;
  return 1;
}

TEST(a_small_container_has_zeros_after_the_string_and_grows_to_a_block) {
  fill_text();
  for (int kind = 0; kind < 2; kind++) {
    const int32_t layout = layouts[kind];
    const size_t small = size_of(layout) - 1;
    uint8_t string[25] = {0};
    string[size_of(layout)] = 0x5a;
    for (size_t round = 0; round < 2; round++)
      for (size_t size = 0; size < sizeof text; size++) {
        CHECK(tn_tstring_rfc_assign(string, layout, size == 0 ? NULL : text, size) == TN_OK);
        CHECK(size <= small ? is_small(string, layout, size) : is_large(string, layout, size));
        CHECK(string[size_of(layout)] == 0x5a);
        if (size <= small || layout == TN_TSTRING_RFC16) continue;
        /* Capacities have the form 16 n - 1, and all of their bytes may be written. */
        CHECK(word_at(string + 8, 8) % 16 == 15 && word_at(string + 8, 8) >= size);
        memset((void *)(uintptr_t)word_at(string + 16, 8), 'x', word_at(string + 8, 8) + 1);
      }
    CHECK(tn_tstring_rfc_assign(string, layout, text, 300) == TN_OK);
    uint8_t before[24], *characters = (uint8_t *)(uintptr_t)word_at(string + size_of(layout) - 8, 8);
    /* A shorter string that is longer than the container stays in the block of the larger struct. */
    CHECK(tn_tstring_rfc_assign(string, layout, text, 299) == TN_OK && is_large(string, layout, 299));
    CHECK(layout == TN_TSTRING_RFC16 || characters == (uint8_t *)(uintptr_t)word_at(string + 16, 8));
    memcpy(before, string, size_of(layout));
    for (size_t most = (size_t)PTRDIFF_MAX - 64; most < (size_t)PTRDIFF_MAX; most += 63) {
      CHECK(tn_tstring_rfc_assign(string, layout, text, most) == TN_OUT_OF_MEMORY);
      CHECK(memcmp(before, string, size_of(layout)) == 0);
    }
    tn_tstring_rfc_dealloc(string, layout);
    CHECK(word_at(string, 1) % 4 == TN_TSTRING_SMALL);
  }
}

/* Three strings, so that the memory of an OFFSET can be before and after others. */
enum { CAPACITY = 40 };

TEST(an_offset_container_is_written_in_place_up_to_its_size_and_kept_by_a_block) {
  fill_text();
  for (int kind = 0; kind < 2; kind++) {
    const int32_t layout = layouts[kind];
    const size_t stride = size_of(layout);
    uint8_t memory[24 + 8 + CAPACITY + 8];
    memset(memory, 0x5a, sizeof memory);
    uint8_t *const bytes = memory + stride + 8;
    memset(memory, 0, stride);
    put_word(memory, CAPACITY << 2 | TN_TSTRING_OFFSET, 4);
    put_word(memory + 4, stride + 8, 4);
    for (size_t size = CAPACITY; size <= CAPACITY; size -= 13) {
      CHECK(tn_tstring_rfc_assign(memory, layout, text, size) == TN_OK);
      CHECK(word_at(memory, 4) == (size << 2 | TN_TSTRING_OFFSET) && word_at(memory + 4, 4) == stride + 8);
      CHECK(memcmp(bytes, text, size) == 0 && bytes[-1] == 0x5a && bytes[CAPACITY] == 0x5a);
    }
    /* Its size is its capacity, so a longer string needs a block. */
    CHECK(tn_tstring_rfc_assign(memory, layout, text, 2) == TN_OK && word_at(memory, 1) % 4 == TN_TSTRING_LARGE && is_large(memory, layout, 2));
    CHECK(tn_tstring_rfc_assign(memory, layout, text, 100) == TN_OK && is_large(memory, layout, 100));
    CHECK(tn_tstring_rfc_assign(memory, layout, "z", 1) == TN_OK);
    CHECK(word_at(memory, 4) == (1 << 2 | TN_TSTRING_OFFSET) && bytes[0] == 'z' && bytes[1] == 'b');
    CHECK(tn_tstring_rfc_assign(memory, layout, NULL, 0) == TN_OK && word_at(memory, 4) == TN_TSTRING_OFFSET && bytes[0] == 'z');
  }
}

TEST(a_prealloc_container_is_written_in_place_up_to_its_capacity) {
  fill_text();
  for (int kind = 0; kind < 2; kind++) {
    const int32_t layout = layouts[kind];
    uint8_t string[24] = {0}, bytes[CAPACITY + 1];
    memset(bytes, 0x5a, sizeof bytes);
    put_word(string, 3 << 2 | TN_TSTRING_PREALLOC, 4);
    put_word(string + 4, CAPACITY, 4);
    put_word(string + 8, (uintptr_t)bytes, 8);
    for (size_t size = 0; size <= CAPACITY; size++) {
      CHECK(tn_tstring_rfc_assign(string, layout, size == 0 ? NULL : text, size) == TN_OK);
      CHECK(word_at(string, 4) == (size << 2 | TN_TSTRING_PREALLOC) && word_at(string + 4, 4) == CAPACITY);
      CHECK(word_at(string + 8, 8) == (uintptr_t)bytes && memcmp(bytes, text, size) == 0 && bytes[size] == 0x5a);
    }
    CHECK(tn_tstring_rfc_assign(string, layout, text, CAPACITY + 1) == TN_OK && is_large(string, layout, CAPACITY + 1));
    CHECK(bytes[CAPACITY] == 0x5a);
    tn_tstring_rfc_dealloc(string, layout);
    CHECK(word_at(string, 4) == (CAPACITY << 2 | TN_TSTRING_PREALLOC) && word_at(string + 8, 8) == (uintptr_t)bytes);
    /* A capacity above the sizes that a PREALLOC can have. */
    put_word(string + 4, 0xffffffff, 4);
    CHECK(tn_tstring_rfc_assign(string, layout, text, (size_t)1 << 61) == TN_OUT_OF_MEMORY);
  }
}

TEST(the_offset_of_a_moved_string_refers_to_the_same_bytes) {
  fill_text();
  for (int kind = 0; kind < 2; kind++) {
    const int32_t layout = layouts[kind];
    const size_t stride = size_of(layout);
    uint8_t memory[4 * 24 + CAPACITY] = {0}, *const bytes = memory + 4 * stride;
    for (int is_block = 0; is_block < 2; is_block++)
      for (size_t from = 0; from < 3; from++)
        for (size_t to = 0; to < 3; to++) {
          memset(memory, 0, sizeof memory);
          uint8_t *const source = memory + from * stride, *const string = memory + to * stride;
          put_word(source, CAPACITY << 2 | TN_TSTRING_OFFSET, 4);
          put_word(source + 4, (uint64_t)(bytes - source), 4);
          if (is_block) CHECK(tn_tstring_rfc_assign(source, layout, text, 100) == TN_OK);
          CHECK(tn_tstring_rfc_move(string, source, layout) == TN_OK);
          for (size_t i = 0; from != to && i < stride; i++) CHECK(source[i] == 0);
          CHECK(!is_block || is_large(string, layout, 100));
          CHECK(tn_tstring_rfc_assign(string, layout, text + 1, CAPACITY) == TN_OK);
          CHECK(word_at(string, 4) == (CAPACITY << 2 | TN_TSTRING_OFFSET) && word_at(string + 4, 4) == (uint64_t)(bytes - string));
          CHECK(memcmp(bytes, text + 1, CAPACITY) == 0);
        }
    /* Offsets are not negative, and have 32 bits. Nothing changes if the bytes are out of reach. */
    uint8_t before[24];
    put_word(memory, 4 << 2 | TN_TSTRING_OFFSET, 4);
    put_word(memory + 4, stride, 4);
    memcpy(before, memory, stride);
    CHECK(tn_tstring_rfc_move(memory + stride, memory, layout) == TN_OK && word_at(memory + stride + 4, 4) == 0);
    memcpy(memory, before, stride);
    CHECK(tn_tstring_rfc_move(memory + stride + 1, memory, layout) == TN_INVALID_ARGUMENT && memcmp(memory, before, stride) == 0);
    put_word(memory + stride + 4, 0xffffffff, 4);
    put_word(memory + stride, 4 << 2 | TN_TSTRING_OFFSET, 4);
    CHECK(tn_tstring_rfc_move(memory + stride + 8, memory + stride + 8, layout) == TN_OK);
    uint8_t target[24] = {0};
    memcpy(target, memory + stride, stride);
    CHECK(tn_tstring_rfc_move(memory, memory + stride, layout) == TN_INVALID_ARGUMENT);
    put_word(memory + stride + 4, 0xffffffff - stride, 4);
    CHECK(tn_tstring_rfc_move(memory, memory + stride, layout) == TN_OK && word_at(memory + 4, 4) == 0xffffffff);
  }
}

TEST(blocks_are_freed_when_a_string_is_assigned_moved_or_freed) {
  fill_text();
  for (int kind = 0; kind < 2; kind++) {
    const int32_t layout = layouts[kind];
    uint8_t string[24] = {0}, other[24] = {0};
    size_t before = 0;
    for (int round = 0; round < 200; round++) {
      /* The first rounds fill the caches of the allocator. */
      if (round == 100) before = heap_bytes();
      CHECK(tn_tstring_rfc_assign(string, layout, text, 300) == TN_OK);
      CHECK(tn_tstring_rfc_assign(string, layout, text, 399) == TN_OK);
      CHECK(tn_tstring_rfc_assign(string, layout, text, 3) == TN_OK);
      CHECK(tn_tstring_rfc_assign(string, layout, text, 200) == TN_OK);
      CHECK(tn_tstring_rfc_assign(other, layout, text, 222) == TN_OK);
      CHECK(tn_tstring_rfc_move(other, string, layout) == TN_OK);
      CHECK(is_large(other, layout, 200));
      tn_tstring_rfc_dealloc(other, layout);
    }
    CHECK(heap_bytes() == before);
  }
}
