/* A string in the layout of TensorFlow's releases, which has 24 bytes on every machine. A SMALL string stores up to 22
 * bytes in the struct, a LARGE string owns a block from malloc(), and OFFSET and VIEW strings refer to bytes with
 * another owner. Every change creates the new content before it frees the old content, so the source may be part of the
 * string itself. */
#include <stdlib.h>

#include "internal.h"

#define WORD sizeof(size_t)

static size_t large_capacity(const void *string) { return tn__load_word(AT(string, WORD)); }

static uint8_t *large_block(const void *string) { return (uint8_t *)tn__load_word(AT(string, 2 * WORD)); }

static void store_large(void *string, size_t size, size_t capacity, uint8_t *block) {
  tn__store_word(string, tn__word_of_size(size, TN_TSTRING_LARGE));
  tn__store_word(AT(string, WORD), capacity);
  tn__store_word(AT(string, 2 * WORD), (size_t)block);
  block[size] = 0;
}

static tn_tstring_owner_t *owner_of(const void *string) {
  return tn__type_of(string) == TN_TSTRING_VIEW ? (tn_tstring_owner_t *)tn__load_word(AT(string, 2 * WORD)) : NULL;
}

static void init(void *string) { memset(string, 0, TN__TSTRING_SIZE); }

static void store_view(void *string, const char *bytes, size_t size, tn_tstring_owner_t *owner) {
  init(string);
  tn__store_word(string, tn__word_of_size(size, TN_TSTRING_VIEW));
  tn__store_word(AT(string, WORD), (size_t)bytes);
  tn__store_word(AT(string, 2 * WORD), (size_t)owner);
}

/* Releases the block or the owner of a string and leaves its bytes unchanged. */
static void release(void *string) {
  if (tn__type_of(string) == TN_TSTRING_LARGE) free(large_block(string));
  tn_tstring_owner_t *owner = owner_of(string);
  if (owner != NULL) owner->unref(owner);
}

/* Returns whether some of these bytes are in the string's struct or in the string's block. */
static bool overlaps(const void *string, const char *bytes, size_t size) {
  const uintptr_t start = (uintptr_t)bytes, end = start + size;
  const int type = tn__type_of(string);
  if (size == 0 || (type != TN_TSTRING_SMALL && type != TN_TSTRING_LARGE)) return false;
  const uintptr_t own = type == TN_TSTRING_SMALL ? (uintptr_t)string : (uintptr_t)large_block(string);
  const uintptr_t room = type == TN_TSTRING_SMALL ? TN__TSTRING_SIZE : large_capacity(string) + 1;
  return start < own + room && own < end;
}

/* The capacity of a block for `size` bytes and a NUL: a multiple of 16 less one, or zero if `size` is too large. */
static size_t rounded(size_t size) {
  const size_t limit = TN__LARGE_SIZE_MAXIMUM < PTRDIFF_MAX - 16 ? TN__LARGE_SIZE_MAXIMUM : PTRDIFF_MAX - 16;
  return size > limit ? 0 : ((size + 16) & ~(size_t)15) - 1;
}

static int32_t out_of_memory(size_t size) {
  return tn__fail(TN_OUT_OF_MEMORY, "out of memory: cannot allocate a string of %zu bytes", size);
}

/* The new content of a string: the first `keep` bytes of the old content, then `bytes`, then `fill` up to `size`. */
typedef struct {
  size_t keep;
  const char *bytes;
  size_t byte_size;
  char fill;
  size_t size;
  size_t capacity; /* the capacity of a new block, which is rounded up; 0 to derive the capacity from the size */
} content_t;

static void lay(uint8_t *to, const void *string, const content_t *content) {
  if (content->keep != 0) memmove(to, tn_tstring_get_data_pointer(string), content->keep);
  if (content->byte_size != 0) memmove(to + content->keep, content->bytes, content->byte_size);
  const size_t laid = content->keep + content->byte_size;
  memset(to + laid, content->fill, content->size - laid);
}

static void become_small(void *string, const content_t *content) {
  uint8_t characters[TN__TF_SMALL];
  lay(characters, string, content);
  release(string);
  *AT(string, 0) = (uint8_t)(content->size << 2);
  memcpy(AT(string, 1), characters, content->size);
  *AT(string, 1 + content->size) = 0;
}

/* Returns the capacity of a LARGE string with this content. A block shrinks to no less than half its capacity. */
static size_t next_capacity(const void *string, const content_t *content) {
  if (content->capacity != 0) return rounded(content->capacity);
  if (tn__type_of(string) != TN_TSTRING_LARGE) return rounded(content->size);
  const size_t capacity = large_capacity(string);
  if (content->size > capacity) return rounded(content->size);
  const bool shrinks = content->size < tn_tstring_get_size(string) && content->size < capacity / 2;
  return shrinks ? rounded(capacity / 2) : capacity;
}

static int32_t become_large(void *string, const content_t *content) {
  const size_t capacity = next_capacity(string, content);
  if (capacity == 0) return out_of_memory(content->capacity != 0 ? content->capacity : content->size);
  if (tn__type_of(string) == TN_TSTRING_LARGE && capacity == large_capacity(string)) {
    uint8_t *block = large_block(string);
    lay(block, string, content);
    store_large(string, content->size, capacity, block);
    return TN_OK;
  }
  uint8_t *block = malloc(capacity + 1);
  if (block == NULL) return out_of_memory(capacity);
  lay(block, string, content);
  release(string);
  store_large(string, content->size, capacity, block);
  return TN_OK;
}

static int32_t become(void *string, const content_t *content) {
  if (content->size > TN__TF_SMALL) return become_large(string, content);
  become_small(string, content);
  return TN_OK;
}

int32_t tn_tstring_copy(void *string, const char *bytes, size_t byte_size) {
  return become(string, &(content_t){.bytes = bytes, .byte_size = byte_size, .size = byte_size});
}

int32_t tn_tstring_append(void *string, const char *bytes, size_t byte_size) {
  if (byte_size == 0) return TN_OK;
  const size_t size = tn_tstring_get_size(string), capacity = tn_tstring_get_capacity(string);
  if (byte_size > TN__WORD_SIZE_MAXIMUM - size) return out_of_memory(byte_size);
  const size_t needed = size + byte_size;
  const size_t doubled = needed > capacity ? (needed > 2 * capacity ? needed : 2 * capacity) : 0;
  return become(
      string, &(content_t){.keep = size, .bytes = bytes, .byte_size = byte_size, .size = needed, .capacity = doubled});
}

int32_t tn_tstring_resize(void *string, size_t byte_size, char fill) {
  const size_t size = tn_tstring_get_size(string);
  return become(string, &(content_t){.keep = size < byte_size ? size : byte_size, .fill = fill, .size = byte_size});
}

int32_t tn_tstring_reserve(void *string, size_t capacity) {
  if (capacity <= TN__TF_SMALL) return TN_OK;
  if (tn__type_of(string) == TN_TSTRING_LARGE && large_capacity(string) >= capacity) return TN_OK;
  const size_t size = tn_tstring_get_size(string);
  return become_large(string, &(content_t){.keep = size, .size = size, .capacity = capacity > size ? capacity : size});
}

int32_t tn_tstring_reserve_amortized(void *string, size_t capacity) {
  const size_t current = tn_tstring_get_capacity(string);
  if (capacity <= current) return TN_OK;
  return tn_tstring_reserve(string, capacity > 2 * current ? capacity : 2 * current);
}

int32_t tn_tstring_assign_view(void *string, const char *bytes, size_t byte_size) {
  if (byte_size > TN__WORD_SIZE_MAXIMUM) return out_of_memory(byte_size);
  if (overlaps(string, bytes, byte_size)) return tn_tstring_copy(string, bytes, byte_size);
  tn_tstring_owner_t *owner = owner_of(string);
  const uintptr_t viewed = (uintptr_t)tn_tstring_get_data_pointer(string), start = (uintptr_t)bytes;
  // The string's reference to the owner also keeps the part alive.
  const bool is_part = owner != NULL && start >= viewed && start + byte_size <= viewed + tn_tstring_get_size(string);
  if (!is_part) release(string);
  store_view(string, bytes, byte_size, is_part ? owner : NULL);
  return TN_OK;
}

int32_t tn_tstring_assign_owned_view(void *string, const char *bytes, size_t byte_size, tn_tstring_owner_t *owner) {
  if (byte_size > TN__WORD_SIZE_MAXIMUM) return out_of_memory(byte_size);
  owner->ref(owner);
  release(string);
  store_view(string, bytes, byte_size, owner);
  return TN_OK;
}

int32_t tn_tstring_assign(void *string, const void *source) {
  if (string == source) return TN_OK;
  const int type = tn__type_of(source);
  const char *bytes = tn_tstring_get_data_pointer(source);
  const size_t size = tn_tstring_get_size(source);
  uint8_t next[TN__TSTRING_SIZE];
  if (type == TN_TSTRING_LARGE || (type != TN_TSTRING_SMALL && overlaps(string, bytes, size))) {
    init(next);
    TN_TRY(tn_tstring_copy(next, bytes, size));
  } else if (type == TN_TSTRING_OFFSET) {
    store_view(next, bytes, size, NULL);
  } else {
    memcpy(next, source, sizeof next);
    tn_tstring_owner_t *owner = owner_of(source);
    if (owner != NULL) owner->ref(owner);
  }
  release(string);
  memcpy(string, next, sizeof next);
  return TN_OK;
}

int32_t tn_tstring_move(void *string, void *source, int32_t keep_views) {
  if (string == source) return TN_OK;
  const int type = tn__type_of(source);
  const bool is_view = type == TN_TSTRING_VIEW, empties = type == TN_TSTRING_LARGE || (is_view && !keep_views);
  const char *bytes = tn_tstring_get_data_pointer(source);
  const size_t size = tn_tstring_get_size(source);
  if ((is_view || type == TN_TSTRING_OFFSET) && overlaps(string, bytes, size)) {
    TN_TRY(tn_tstring_copy(string, bytes, size));
    if (empties) release(source);
  } else {
    uint8_t next[TN__TSTRING_SIZE];
    memcpy(next, source, sizeof next);
    if (type == TN_TSTRING_OFFSET) store_view(next, bytes, size, NULL);
    release(string);
    memcpy(string, next, sizeof next);
  }
  if (empties) init(source);
  return TN_OK;
}

void tn_tstring_dealloc(void *string) {
  if (tn__type_of(string) != TN_TSTRING_LARGE && owner_of(string) == NULL) return;
  release(string);
  init(string);
}

int32_t tn_tstring_get_type(const void *string) { return tn__type_of(string); }

size_t tn_tstring_get_size(const void *string) {
  const int type = tn__type_of(string);
  if (type == TN_TSTRING_SMALL) return *AT(string, 0) >> 2;
  if (type == TN_TSTRING_OFFSET) return tn__load32(string, false) >> 2;
  return tn__size_of_word(tn__load_word(string));
}

size_t tn_tstring_get_capacity(const void *string) {
  const int type = tn__type_of(string);
  if (type == TN_TSTRING_SMALL) return TN__TF_SMALL;
  return type == TN_TSTRING_LARGE ? large_capacity(string) : 0;
}

const char *tn_tstring_get_data_pointer(const void *string) {
  const int type = tn__type_of(string);
  if (type == TN_TSTRING_SMALL) return (const char *)AT(string, 1);
  if (type == TN_TSTRING_LARGE) return (const char *)large_block(string);
  if (type == TN_TSTRING_OFFSET) return (const char *)string + tn__load32(AT(string, 4), false);
  return (const char *)tn__load_word(AT(string, WORD));
}

char *tn_tstring_get_mutable_data_pointer(void *string) {
  const int type = tn__type_of(string);
  if (type == TN_TSTRING_OFFSET || type == TN_TSTRING_VIEW) {
    const size_t size = tn_tstring_get_size(string);
    if (become(string, &(content_t){.keep = size, .size = size}) != TN_OK) return NULL;
  }
  return (char *)tn_tstring_get_data_pointer(string);
}

void tn_tstring_dealloc_all(void *structs, uint64_t count, int32_t layout) {
  const size_t stride = tn__struct_size(layout);
  uint8_t *at = structs;
  for (uint64_t i = 0; i < count; i++, at += stride) {
    if (layout == TN_TSTRING_TF)
      tn_tstring_dealloc(at);
    else
      tn_tstring_rfc_dealloc(at, layout);
  }
}
