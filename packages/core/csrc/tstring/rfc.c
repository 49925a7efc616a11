/* One string as the tstring RFC specifies it: 16 bytes, or 24 with a capacity. A string that outgrows its container
 * (SMALL, OFFSET, PREALLOC) becomes LARGE. Its block is
 *
 *   [the container, 16 or 24 bytes][characters][NUL]
 *
 * and the pointer refers to the characters. An assignment that fits the container restores it and frees the block. The
 * capacity of an OFFSET is its size. */
#include <stddef.h>
#include <stdlib.h>

#include "internal.h"

/* The offset of the pointer of a LARGE, which follows the size and, in the larger struct, the capacity. */
static size_t pointer_at(int32_t layout) { return layout == TN_TSTRING_RFC16 ? sizeof(size_t) : 2 * sizeof(size_t); }

static uint8_t *large_characters(const void *string, int32_t layout) {
  return (uint8_t *)tn__load_word(AT(string, pointer_at(layout)));
}

bool tn__has_block(size_t characters, int32_t layout) {
  const size_t head = tn__struct_size(layout);
  return characters > head && (characters - head) % _Alignof(max_align_t) == 0;
}

static size_t capacity_of(const void *container, int32_t layout) {
  const int type = tn_string_type(container);
  if (type == TN_TSTRING_SMALL) return tn__small_capacity(layout);
  if (type == TN_TSTRING_OFFSET) return tn__load32(container, false) >> 2;
  const uint32_t capacity = tn__load32(AT(container, 4), TN_STRING__BIG_ENDIAN);
  return capacity < TN__WORD32_SIZE_MAXIMUM ? capacity : TN__WORD32_SIZE_MAXIMUM;
}

static void fill(void *string, int32_t layout, const char *bytes, size_t byte_size) {
  const int type = tn_string_type(string);
  if (type == TN_TSTRING_SMALL) {
    uint8_t next[TN_STRING_SIZE] = {(uint8_t)(byte_size << 2)};
    if (byte_size != 0) memcpy(next + 1, bytes, byte_size);
    memcpy(string, next, tn__struct_size(layout));
  } else if (type == TN_TSTRING_OFFSET) {
    if (byte_size != 0) memmove(AT(string, tn__load32(AT(string, 4), false)), bytes, byte_size);
    tn__store32(string, (uint32_t)byte_size << 2 | TN_TSTRING_OFFSET, false);
  } else {
    if (byte_size != 0) memmove((void *)tn__load_word(AT(string, 8)), bytes, byte_size);
    tn__store32(string, tn__word32_of_size((uint32_t)byte_size, TN_TSTRING_PREALLOC), TN_STRING__BIG_ENDIAN);
  }
}

static void store_large(void *string, int32_t layout, size_t byte_size, size_t capacity, uint8_t *characters) {
  memset(string, 0, tn__struct_size(layout));
  tn__store_word(string, tn_string__word_of_size(byte_size, TN_TSTRING_LARGE));
  if (layout == TN_TSTRING_RFC24) tn__store_word(AT(string, sizeof(size_t)), capacity);
  tn__store_word(AT(string, pointer_at(layout)), (size_t)characters);
}

/* Writes the bytes to a new block, after a copy of the container, which is the string itself or precedes its block. */
static int32_t become_large(void *string, int32_t layout, const char *bytes, size_t byte_size) {
  const size_t head = tn__struct_size(layout);
  if (byte_size > TN_STRING__LARGE_MAXIMUM || byte_size > PTRDIFF_MAX - 64)
    return tn__fail(TN_OUT_OF_MEMORY, "out of memory: cannot allocate a string of %zu bytes", byte_size);
  const size_t capacity = layout == TN_TSTRING_RFC16 ? byte_size : ((byte_size + 16) & ~(size_t)15) - 1;
  uint8_t *block = malloc(head + capacity + 1);
  if (block == NULL)
    return tn__fail(TN_OUT_OF_MEMORY, "out of memory: cannot allocate a string of %zu bytes", byte_size);
  const bool was_large = tn_string_type(string) == TN_TSTRING_LARGE;
  uint8_t *old = was_large ? large_characters(string, layout) - head : NULL;
  memcpy(block, was_large ? old : string, head);
  memcpy(block + head, bytes, byte_size);
  block[head + byte_size] = 0;
  store_large(string, layout, byte_size, capacity, block + head);
  free(old);
  return TN_OK;
}

static int32_t assign_large(void *string, int32_t layout, const char *bytes, size_t byte_size) {
  const size_t head = tn__struct_size(layout);
  uint8_t *characters = large_characters(string, layout), *block = characters - head;
  if (byte_size <= capacity_of(block, layout)) {
    // The bytes may lie in the block, so the block is freed after they have been moved.
    memcpy(string, block, head);
    fill(string, layout, bytes, byte_size);
    free(block);
    return TN_OK;
  }
  const bool fits = layout == TN_TSTRING_RFC24 && byte_size <= tn__load_word(AT(string, sizeof(size_t)));
  if (!fits) return become_large(string, layout, bytes, byte_size);
  memmove(characters, bytes, byte_size);
  characters[byte_size] = 0;
  tn__store_word(string, tn_string__word_of_size(byte_size, TN_TSTRING_LARGE));
  return TN_OK;
}

static int32_t check_layout(int32_t layout) {
  if (layout == TN_TSTRING_RFC16 || layout == TN_TSTRING_RFC24) return TN_OK;
  return tn__fail(TN_INVALID_ARGUMENT, "layout must be RFC16 or RFC24, got %d", layout);
}

int32_t tn_tstring_rfc_assign(void *string, int32_t layout, const char *bytes, size_t byte_size) {
  TN_TRY(check_layout(layout));
  if (tn_string_type(string) == TN_TSTRING_LARGE) return assign_large(string, layout, bytes, byte_size);
  if (byte_size > capacity_of(string, layout)) return become_large(string, layout, bytes, byte_size);
  fill(string, layout, bytes, byte_size);
  return TN_OK;
}

/* Changes the offset of an OFFSET container of `source` so that it refers to the same bytes from `string`. */
static bool rebase(uint8_t *container, const void *string, const void *source) {
  const uintptr_t data = (uintptr_t)source + tn__load32(container + 4, false);
  if (data < (uintptr_t)string || data - (uintptr_t)string > UINT32_MAX) return false;
  tn__store32(container + 4, (uint32_t)(data - (uintptr_t)string), false);
  return true;
}

int32_t tn_tstring_rfc_move(void *string, void *source, int32_t layout) {
  const int32_t status = check_layout(layout);
  if (status != TN_OK || string == source) return status;
  const size_t head = tn__struct_size(layout);
  uint8_t next[TN_STRING_SIZE];
  memcpy(next, source, head);
  const bool is_large = tn_string_type(source) == TN_TSTRING_LARGE;
  uint8_t *container = is_large ? large_characters(source, layout) - head : next;
  if (tn_string_type(container) == TN_TSTRING_OFFSET && !rebase(container, string, source))
    return tn__fail(TN_INVALID_ARGUMENT, "an OFFSET string must be moved to less than 4 GiB before its bytes");
  tn_tstring_rfc_dealloc(string, layout);
  memcpy(string, next, head);
  memset(source, 0, head);
  return TN_OK;
}

void tn_tstring_rfc_dealloc(void *string, int32_t layout) {
  if (check_layout(layout) != TN_OK || tn_string_type(string) != TN_TSTRING_LARGE) return;
  uint8_t *characters = large_characters(string, layout);
  if (!tn__has_block((size_t)characters, layout)) return;
  uint8_t *block = characters - tn__struct_size(layout);
  memcpy(string, block, tn__struct_size(layout));
  free(block);
}
