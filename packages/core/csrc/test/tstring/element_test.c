/* element.c: properties that only C sees, which are the bytes after a LARGE, owners, and sources inside the string. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "tenon_tstring.h"

typedef union {
  uint8_t bytes[24];
  size_t words[3];
} string_t;

typedef struct {
  tn_tstring_owner_t owner;
  int references, refs, unrefs;
} counted_t;

static void ref(tn_tstring_owner_t *self) {
  counted_t *counted = self->object;
  counted->references++;
  counted->refs++;
}

static bool unref(tn_tstring_owner_t *self) {
  counted_t *counted = self->object;
  counted->unrefs++;
  return --counted->references == 0;
}

static void init_counted(counted_t *counted) {
  memset(counted, 0, sizeof *counted);
  counted->owner = (tn_tstring_owner_t){ref, unref, counted};
}

static bool is(const void *string, const char *text, size_t size) {
  return tn_tstring_get_size(string) == size && memcmp(tn_tstring_get_data_pointer(string), text, size) == 0;
}

static char pattern(size_t i) { return (char)('a' + i % 26); }

static char *patterned(size_t size) {
  char *text = malloc(size + 1);
  for (size_t i = 0; i < size; i++) text[i] = pattern(i);
  return text;
}

TEST(a_nul_follows_a_large_and_its_block_has_the_whole_capacity) {
  string_t string = {{0}};
  char *text = patterned(5000);
  for (size_t size = 23; size < 5000; size += 7) {
    CHECK(tn_tstring_copy(&string, text, size) == TN_OK);
    char *data = tn_tstring_get_mutable_data_pointer(&string);
    CHECK(data[size] == 0 && is(&string, text, size));
    CHECK(tn_tstring_get_capacity(&string) % 16 == 15);
    memset(data, 'x', tn_tstring_get_capacity(&string) + 1);
  }
  free(text);
  tn_tstring_dealloc(&string);
}

TEST(an_owner_is_retained_once_and_released_once) {
  counted_t counted;
  const char *text = "bytes that somebody owns, more than a SMALL holds";
  const size_t size = strlen(text);
  for (int operation = 0; operation < 7; operation++) {
    init_counted(&counted);
    string_t string = {{0}}, other = {{0}};
    CHECK(tn_tstring_assign_owned_view(&string, text, size, &counted.owner) == TN_OK);
    CHECK(counted.references == 1);
    CHECK(tn_tstring_assign(&other, &string) == TN_OK);
    CHECK(counted.references == 2 && tn_tstring_get_type(&other) == TN_TSTRING_VIEW);
    if (operation == 0) CHECK(tn_tstring_copy(&other, "new", 3) == TN_OK);
    if (operation == 1) CHECK(tn_tstring_resize(&other, 100, 'x') == TN_OK);
    if (operation == 2) CHECK(tn_tstring_reserve(&other, 100) == TN_OK);
    if (operation == 3) CHECK(tn_tstring_assign_view(&other, "elsewhere", 9) == TN_OK);
    if (operation == 4) CHECK(tn_tstring_append(&other, "!", 1) == TN_OK);
    if (operation == 5) tn_tstring_dealloc(&other);
    if (operation == 6) CHECK(tn_tstring_get_mutable_data_pointer(&other) != NULL);
    CHECK(counted.references == 1 && counted.unrefs == 1);
    tn_tstring_dealloc(&other);
    CHECK(counted.references == 1);
    /* Neither a move nor an empty append retains or releases. */
    CHECK(tn_tstring_move(&other, &string, 0) == TN_OK);
    CHECK(tn_tstring_append(&other, NULL, 0) == TN_OK);
    CHECK(counted.references == 1 && counted.refs == 2 && tn_tstring_get_size(&string) == 0);
    CHECK(is(&other, text, size));
    tn_tstring_dealloc(&string);
    tn_tstring_dealloc(&other);
    tn_tstring_dealloc(&other);
    CHECK(counted.references == 0 && counted.unrefs == 2);
  }
}

/* TensorFlow's header releases the owner first. If the string has the last reference, its new bytes are freed then. */
TEST(a_part_of_an_owned_view_keeps_its_owner) {
  counted_t counted;
  init_counted(&counted);
  string_t string = {{0}};
  const char *text = "bytes that somebody owns";
  CHECK(tn_tstring_assign_owned_view(&string, text, strlen(text), &counted.owner) == TN_OK);
  CHECK(tn_tstring_assign_view(&string, text + 6, 4) == TN_OK);
  CHECK(counted.references == 1 && is(&string, "that", 4));
  tn_tstring_dealloc(&string);
  CHECK(counted.references == 0);
}

TEST(sources_may_lie_in_the_string_itself) {
  static const size_t sizes[] = {1, 10, 11, 22, 23, 31, 32, 100, 1000};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    const size_t size = sizes[i];
    char *text = patterned(2 * size);
    string_t string = {{0}};
    CHECK(tn_tstring_copy(&string, text, size) == TN_OK);
    CHECK(tn_tstring_append(&string, tn_tstring_get_data_pointer(&string), size) == TN_OK);
    CHECK(tn_tstring_get_size(&string) == 2 * size);
    CHECK(memcmp(tn_tstring_get_data_pointer(&string), text, size) == 0);
    CHECK(memcmp(tn_tstring_get_data_pointer(&string) + size, text, size) == 0);
    CHECK(tn_tstring_copy(&string, text, size) == TN_OK);
    CHECK(tn_tstring_copy(&string, tn_tstring_get_data_pointer(&string) + size / 2, size - size / 2) == TN_OK);
    CHECK(is(&string, text + size / 2, size - size / 2));
    CHECK(tn_tstring_copy(&string, text, size) == TN_OK);
    CHECK(tn_tstring_assign_view(&string, tn_tstring_get_data_pointer(&string) + size / 2, size - size / 2) == TN_OK);
    CHECK(tn_tstring_get_type(&string) != TN_TSTRING_VIEW);
    CHECK(is(&string, text + size / 2, size - size / 2));
    /* A view of another string's block, assigned and moved to that string. */
    for (int moves = 0; moves < 2; moves++) {
      string_t view = {{0}};
      CHECK(tn_tstring_copy(&string, text, size) == TN_OK);
      CHECK(tn_tstring_assign_view(&view, tn_tstring_get_data_pointer(&string), size) == TN_OK);
      CHECK((moves ? tn_tstring_move(&string, &view, 0) : tn_tstring_assign(&string, &view)) == TN_OK);
      CHECK(is(&string, text, size) && tn_tstring_get_type(&string) != TN_TSTRING_VIEW);
    }
    tn_tstring_dealloc(&string);
    free(text);
  }
}

TEST(overwriting_a_view_does_not_read_its_bytes) {
  for (int operation = 0; operation < 4; operation++) {
    string_t string = {{0}}, large = {{0}};
    char *text = patterned(100);
    CHECK(tn_tstring_copy(&large, text, 100) == TN_OK);
    CHECK(tn_tstring_assign_view(&string, text, 100) == TN_OK);
    free(text);
    if (operation == 0) CHECK(tn_tstring_copy(&string, "short", 5) == TN_OK);
    if (operation == 1) CHECK(tn_tstring_copy(&string, "longer than a SMALL holds", 25) == TN_OK);
    if (operation == 2) CHECK(tn_tstring_assign(&string, &large) == TN_OK);
    if (operation == 3) CHECK(tn_tstring_move(&string, &large, 0) == TN_OK);
    CHECK(tn_tstring_get_type(&string) != TN_TSTRING_VIEW);
    tn_tstring_dealloc(&string);
    tn_tstring_dealloc(&large);
  }
}

TEST(a_string_that_exceeds_memory_is_refused_and_unchanged) {
  string_t string = {{0}};
  CHECK(tn_tstring_copy(&string, "a string that owns its block", 28) == TN_OK);
  const string_t before = string;
  CHECK(tn_tstring_append(&string, "x", SIZE_MAX / 4) == TN_OUT_OF_MEMORY);
  CHECK(tn_tstring_append(&string, "x", SIZE_MAX) == TN_OUT_OF_MEMORY);
  CHECK(tn_tstring_resize(&string, SIZE_MAX / 4, 0) == TN_OUT_OF_MEMORY);
  CHECK(tn_tstring_reserve(&string, SIZE_MAX) == TN_OUT_OF_MEMORY);
  CHECK(tn_tstring_reserve_amortized(&string, SIZE_MAX - 15) == TN_OUT_OF_MEMORY);
  CHECK(tn_tstring_assign_view(&string, "x", SIZE_MAX) == TN_OUT_OF_MEMORY);
  CHECK(memcmp(&string, &before, sizeof string) == 0);
  tn_tstring_dealloc(&string);
}
