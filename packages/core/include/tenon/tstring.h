/* The strings of TensorFlow's string tensors (TF_TString), for kernels in C and C++ that do not link with TensorFlow.
 *
 * The data of a string tensor is an array of strings of 24 bytes, aligned as a pointer, one for each element. A SMALL holds up to 22 bytes
 * itself, a LARGE owns a block from malloc(), and an OFFSET or a VIEW refers to bytes that somebody else owns. Every function takes a string at
 * any address that was initialised: tn_string_init(), zeros, or an element of a tensor. A change makes the new contents before it frees the
 * old ones, so bytes of the string itself may be given to it. Functions that need memory return false if there is none, and leave the string
 * as it was.
 *
 * Example: a kernel that writes "n bytes" for each string.
 *
 *   #include <stdio.h>
 *   #include <tenon/tstring.h>
 *   void describe_all(const tn_string_t *in, tn_string_t *out, size_t count) {
 *     for (size_t i = 0; i < count; i++) {
 *       char text[32];
 *       const int size = snprintf(text, sizeof text, "%zu bytes", tn_string_size(&in[i]));
 *       tn_string_copy(&out[i], text, (size_t)size);
 *     }
 *   }
 *
 * C++ has the class tenon::tstring, which is such a string and frees itself.
 *
 * Source of the layout: TensorFlow's ctstring_internal.h. The growth of blocks is that of TensorFlow, too. */
#ifndef TENON_STRING_H
#define TENON_STRING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define TN_STRING__BIG_ENDIAN 1
#else
#define TN_STRING__BIG_ENDIAN 0
#endif

#define TN_STRING_SIZE ((size_t)24)
#define TN_STRING_SMALL_CAPACITY ((size_t)22)

/* The type of a string, in the low two bits of its first byte. */
enum { TN_STRING_SMALL = 0, TN_STRING_LARGE = 1, TN_STRING_OFFSET = 2, TN_STRING_VIEW = 3 };

/* One string. */
typedef union tn_string {
  uint8_t bytes[24];
  void *alignment;
} tn_string_t;

/* The owner of the bytes of a VIEW, to which its last word may point (since TensorFlow 2.21). */
typedef struct tn_tstring_owner {
  void (*ref)(struct tn_tstring_owner *self);
  bool (*unref)(struct tn_tstring_owner *self); /* true when it was the last reference */
  void *object;
} tn_tstring_owner_t;

/* --- words: the size is in the upper bits of the first one, and the type in the low two bits of the first byte ---------------------- */

static inline size_t tn_string__word(const void *string, size_t index) {
  size_t value;
  memcpy(&value, (const uint8_t *)string + index * sizeof value, sizeof value);
  return value;
}

static inline void tn_string__set_word(void *string, size_t index, size_t value) {
  memcpy((uint8_t *)string + index * sizeof value, &value, sizeof value);
}

/* A little-endian word of an OFFSET. */
static inline uint32_t tn_string__word32(const void *string, size_t index) {
  const uint8_t *at = (const uint8_t *)string + 4 * index;
  return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

#define TN_STRING__TOP_SHIFT ((sizeof(size_t) - 1) * 8)
#define TN_STRING__WORD_MAXIMUM (SIZE_MAX >> 2)
/* On big-endian machines one bit of larger sizes shares its place with the type, and would turn a LARGE into a VIEW. */
#define TN_STRING__LARGE_MAXIMUM (SIZE_MAX >> (TN_STRING__BIG_ENDIAN ? 9 : 2))

static inline size_t tn_string__size_of_word(size_t word) {
#if TN_STRING__BIG_ENDIAN
  const size_t top = word >> TN_STRING__TOP_SHIFT;
  return (word & ~((size_t)0xff << TN_STRING__TOP_SHIFT)) | top >> 2 << TN_STRING__TOP_SHIFT;
#else
  return word >> 2;
#endif
}

static inline size_t tn_string__word_of_size(size_t size, int type) {
#if TN_STRING__BIG_ENDIAN
  // Only the top byte is shifted.
  const size_t top = (size_t)0xff << TN_STRING__TOP_SHIFT;
  return (size << 2 & top) | (size & ~top) | (size_t)type << TN_STRING__TOP_SHIFT;
#else
  return size << 2 | (size_t)type;
#endif
}

/* --- reading ------------------------------------------------------------------------------------------------------------------------ */

static inline int tn_string_type(const void *string) { return *(const uint8_t *)string & 3; }

/* The number of bytes. */
static inline size_t tn_string_size(const void *string) {
  const int type = tn_string_type(string);
  if (type == TN_STRING_SMALL) return (size_t)(*(const uint8_t *)string >> 2);
  if (type == TN_STRING_OFFSET) return tn_string__word32(string, 0) >> 2;
  return tn_string__size_of_word(tn_string__word(string, 0));
}

/* The number of bytes for which the string has room; 0 if others own them. */
static inline size_t tn_string_capacity(const void *string) {
  const int type = tn_string_type(string);
  if (type == TN_STRING_SMALL) return TN_STRING_SMALL_CAPACITY;
  return type == TN_STRING_LARGE ? tn_string__word(string, 1) : 0;
}

/* The bytes, until the string changes. A NUL follows those of SMALL and LARGE. */
static inline const char *tn_string_data(const void *string) {
  const int type = tn_string_type(string);
  if (type == TN_STRING_SMALL) return (const char *)string + 1;
  if (type == TN_STRING_OFFSET) return (const char *)string + tn_string__word32(string, 1);
  return (const char *)tn_string__word(string, type == TN_STRING_LARGE ? 2 : 1);
}

/* Compares strings as unsigned bytes: negative, 0 or positive. */
static inline int tn_string_compare(const void *a, const void *b) {
  const size_t size_a = tn_string_size(a), size_b = tn_string_size(b);
  const size_t common = size_a < size_b ? size_a : size_b;
  const int order = common == 0 ? 0 : memcmp(tn_string_data(a), tn_string_data(b), common);
  return order != 0 ? order : (size_a > size_b) - (size_a < size_b);
}

/* --- contents ------------------------------------------------------------------------------------------------------------------------ */

static inline tn_tstring_owner_t *tn_string__owner(const void *string) {
  return tn_string_type(string) == TN_STRING_VIEW ? (tn_tstring_owner_t *)tn_string__word(string, 2) : NULL;
}

/* Makes an empty string of memory with any contents, which are not freed. */
static inline void tn_string_init(void *string) { memset(string, 0, TN_STRING_SIZE); }

static inline void tn_string__set_view(void *string, const char *bytes, size_t size, tn_tstring_owner_t *owner) {
  tn_string__set_word(string, 0, tn_string__word_of_size(size, TN_STRING_VIEW));
  tn_string__set_word(string, 1, (size_t)bytes);
  tn_string__set_word(string, 2, (size_t)owner);
  const size_t end = 3 * sizeof(size_t);
  if (end < TN_STRING_SIZE) memset((uint8_t *)string + end, 0, TN_STRING_SIZE - end);
}

/* Frees the block or the reference to the owner, and leaves the bytes of the string as they are. */
static inline void tn_string__release(void *string) {
  if (tn_string_type(string) == TN_STRING_LARGE) free((void *)tn_string__word(string, 2));
  tn_tstring_owner_t *owner = tn_string__owner(string);
  if (owner != NULL) owner->unref(owner);
}

/* Whether some of these bytes are in the string or in its block. */
static inline bool tn_string__overlaps(const void *string, const char *bytes, size_t size) {
  const uintptr_t start = (uintptr_t)bytes, end = start + size;
  const int type = tn_string_type(string);
  if (size == 0 || (type != TN_STRING_SMALL && type != TN_STRING_LARGE)) return false;
  const uintptr_t own = type == TN_STRING_SMALL ? (uintptr_t)string : (uintptr_t)tn_string__word(string, 2);
  const uintptr_t room = type == TN_STRING_SMALL ? TN_STRING_SIZE : tn_string__word(string, 1) + 1;
  return start < own + room && own < end;
}

/* The capacity of a block for `size` bytes and a NUL: a multiple of 16 less one; 0 if no block can have it. */
static inline size_t tn_string__rounded(size_t size) {
  const size_t most = (size_t)PTRDIFF_MAX - 16;
  const size_t limit = TN_STRING__LARGE_MAXIMUM < most ? TN_STRING__LARGE_MAXIMUM : most;
  return size > limit ? 0 : ((size + 16) & ~(size_t)15) - 1;
}

/* The new contents of a string: the first `keep` bytes of the old ones, then `bytes`, then `fill` up to `size`. */
typedef struct {
  size_t keep;
  const char *bytes;
  size_t byte_size;
  char fill;
  size_t size;
  size_t capacity; /* that of a new block, which is rounded up; 0 to derive it from the size */
} tn_string__contents_t;

static inline void tn_string__lay(char *to, const void *string, const tn_string__contents_t *contents) {
  if (contents->keep != 0) memmove(to, tn_string_data(string), contents->keep);
  if (contents->byte_size != 0) memmove(to + contents->keep, contents->bytes, contents->byte_size);
  const size_t laid = contents->keep + contents->byte_size;
  memset(to + laid, contents->fill, contents->size - laid);
}

static inline void tn_string__become_small(void *string, const tn_string__contents_t *contents) {
  char characters[22];
  tn_string__lay(characters, string, contents);
  tn_string__release(string);
  uint8_t *at = (uint8_t *)string;
  at[0] = (uint8_t)(contents->size << 2);
  memcpy(at + 1, characters, contents->size);
  at[1 + contents->size] = 0;
}

/* The capacity of a LARGE with these contents. A block shrinks to no less than half its capacity. */
static inline size_t tn_string__next_capacity(const void *string, const tn_string__contents_t *contents) {
  if (contents->capacity != 0) return tn_string__rounded(contents->capacity);
  if (tn_string_type(string) != TN_STRING_LARGE) return tn_string__rounded(contents->size);
  const size_t capacity = tn_string__word(string, 1);
  if (contents->size > capacity) return tn_string__rounded(contents->size);
  const bool shrinks = contents->size < tn_string_size(string) && contents->size < capacity / 2;
  return shrinks ? tn_string__rounded(capacity / 2) : capacity;
}

static inline bool tn_string__become_large(void *string, const tn_string__contents_t *contents) {
  const size_t capacity = tn_string__next_capacity(string, contents);
  if (capacity == 0) return false;
  const bool fits = tn_string_type(string) == TN_STRING_LARGE && capacity == tn_string__word(string, 1);
  char *block = fits ? (char *)tn_string__word(string, 2) : (char *)malloc(capacity + 1);
  if (block == NULL) return false;
  tn_string__lay(block, string, contents);
  if (!fits) tn_string__release(string);
  block[contents->size] = 0;
  tn_string__set_word(string, 0, tn_string__word_of_size(contents->size, TN_STRING_LARGE));
  tn_string__set_word(string, 1, capacity);
  tn_string__set_word(string, 2, (size_t)block);
  return true;
}

static inline bool tn_string__become(void *string, const tn_string__contents_t *contents) {
  if (contents->size > TN_STRING_SMALL_CAPACITY) return tn_string__become_large(string, contents);
  tn_string__become_small(string, contents);
  return true;
}

/* --- changing ------------------------------------------------------------------------------------------------------------------------ */

/* Assigns a copy of the bytes: a SMALL up to 22 bytes, else a LARGE. The old contents of a VIEW or OFFSET are not read. */
static inline bool tn_string_copy(void *string, const char *bytes, size_t size) {
  const tn_string__contents_t contents = {0, bytes, size, 0, size, 0};
  return tn_string__become(string, &contents);
}

static inline bool tn_string_append(void *string, const char *bytes, size_t size) {
  if (size == 0) return true;
  const size_t keep = tn_string_size(string), capacity = tn_string_capacity(string);
  if (size > TN_STRING__WORD_MAXIMUM - keep) return false;
  const size_t needed = keep + size, doubled = needed > 2 * capacity ? needed : 2 * capacity;
  const tn_string__contents_t contents = {keep, bytes, size, 0, needed, needed > capacity ? doubled : 0};
  return tn_string__become(string, &contents);
}

/* Grows the string with `fill`, or truncates it. */
static inline bool tn_string_resize(void *string, size_t size, char fill) {
  const size_t old = tn_string_size(string);
  const tn_string__contents_t contents = {old < size ? old : size, NULL, 0, fill, size, 0};
  return tn_string__become(string, &contents);
}

/* Makes room for this many bytes. */
static inline bool tn_string_reserve(void *string, size_t capacity) {
  if (capacity <= TN_STRING_SMALL_CAPACITY) return true;
  if (tn_string_type(string) == TN_STRING_LARGE && tn_string__word(string, 1) >= capacity) return true;
  const size_t size = tn_string_size(string);
  const tn_string__contents_t contents = {size, NULL, 0, 0, size, capacity > size ? capacity : size};
  return tn_string__become_large(string, &contents);
}

/* As tn_string_reserve(), but at least doubles the room, for strings that grow step by step. */
static inline bool tn_string_reserve_amortized(void *string, size_t capacity) {
  const size_t current = tn_string_capacity(string);
  return capacity <= current || tn_string_reserve(string, capacity > 2 * current ? capacity : 2 * current);
}

/* Assigns a VIEW of bytes that the caller keeps alive as long as the string. Bytes of the string itself are copied. */
static inline bool tn_string_assign_view(void *string, const char *bytes, size_t size) {
  if (size > TN_STRING__WORD_MAXIMUM) return false;
  if (tn_string__overlaps(string, bytes, size)) return tn_string_copy(string, bytes, size);
  tn_tstring_owner_t *owner = tn_string__owner(string);
  const uintptr_t viewed = (uintptr_t)tn_string_data(string), start = (uintptr_t)bytes;
  // The string's reference to the owner also keeps the part alive.
  const bool is_part = owner != NULL && start >= viewed && start + size <= viewed + tn_string_size(string);
  if (!is_part) tn_string__release(string);
  tn_string__set_view(string, bytes, size, is_part ? owner : NULL);
  return true;
}

/* Assigns a VIEW and retains its owner, which is released when the VIEW is overwritten or freed. */
static inline bool tn_string_assign_owned_view(void *string, const char *bytes, size_t size, tn_tstring_owner_t *owner) {
  if (size > TN_STRING__WORD_MAXIMUM) return false;
  owner->ref(owner);
  tn_string__release(string);
  tn_string__set_view(string, bytes, size, owner);
  return true;
}

/* Assigns another string: a copy of a SMALL or LARGE, a VIEW of the bytes of an OFFSET, and the same VIEW with its owner. */
static inline bool tn_string_assign(void *string, const void *source) {
  if (string == source) return true;
  const int type = tn_string_type(source);
  const char *bytes = tn_string_data(source);
  const size_t size = tn_string_size(source);
  tn_string_t next;
  if (type == TN_STRING_LARGE || (type != TN_STRING_SMALL && tn_string__overlaps(string, bytes, size))) {
    tn_string_init(&next);
    if (!tn_string_copy(&next, bytes, size)) return false;
  } else if (type == TN_STRING_OFFSET) {
    tn_string__set_view(&next, bytes, size, NULL);
  } else {
    memcpy(&next, source, sizeof next);
    tn_tstring_owner_t *owner = tn_string__owner(source);
    if (owner != NULL) owner->ref(owner);
  }
  tn_string__release(string);
  memcpy(string, &next, sizeof next);
  return true;
}

/* Assigns another string, whose block or owner it takes over, and which is empty then. A SMALL is copied, and an OFFSET becomes a VIEW of the
 * same bytes. `keeps_view` leaves a VIEW in the source, as TensorFlow did before November 2025. */
static inline bool tn_string__move(void *string, void *source, bool keeps_view) {
  if (string == source) return true;
  const int type = tn_string_type(source);
  const bool empties = type == TN_STRING_LARGE || (type == TN_STRING_VIEW && !keeps_view);
  const char *bytes = tn_string_data(source);
  const size_t size = tn_string_size(source);
  if ((type == TN_STRING_VIEW || type == TN_STRING_OFFSET) && tn_string__overlaps(string, bytes, size)) {
    if (!tn_string_copy(string, bytes, size)) return false;
    if (empties) tn_string__release(source);
  } else {
    tn_string_t next;
    memcpy(&next, source, sizeof next);
    if (type == TN_STRING_OFFSET) tn_string__set_view(&next, bytes, size, NULL);
    tn_string__release(string);
    memcpy(string, &next, sizeof next);
  }
  if (empties) tn_string_init(source);
  return true;
}

static inline bool tn_string_move(void *string, void *source) { return tn_string__move(string, source, false); }

/* The bytes, which may be written, for which a VIEW or OFFSET becomes a SMALL or LARGE. Returns null if memory is exhausted. */
static inline char *tn_string_mutable_data(void *string) {
  const int type = tn_string_type(string);
  if (type == TN_STRING_OFFSET || type == TN_STRING_VIEW) {
    const size_t size = tn_string_size(string);
    const tn_string__contents_t contents = {size, NULL, 0, 0, size, 0};
    if (!tn_string__become(string, &contents)) return NULL;
  }
  return (char *)tn_string_data(string);
}

/* Frees a block or the reference to an owner. The string is empty then, and a string without either is unchanged. */
static inline void tn_string_dealloc(void *string) {
  if (tn_string_type(string) != TN_STRING_LARGE && tn_string__owner(string) == NULL) return;
  tn_string__release(string);
  tn_string_init(string);
}

#ifdef __cplusplus

#include <new>
#include <string>

namespace tenon {

/* A string of a string tensor as a class, with the members that TensorFlow's RFC describes. An element of a tensor can be used as one by a
 * cast: `static_cast<tenon::tstring *>(data)[i]`. A function that cannot allocate memory throws std::bad_alloc. */
class tstring {
 public:
  enum Type { SMALL = TN_STRING_SMALL, LARGE = TN_STRING_LARGE, OFFSET = TN_STRING_OFFSET, VIEW = TN_STRING_VIEW };

  tstring() { tn_string_init(&string_); }
  tstring(const char *bytes, size_t size) : tstring() { check(tn_string_copy(&string_, bytes, size)); }
  tstring(const char *text) : tstring(text, strlen(text)) {}
  tstring(const std::string &text) : tstring(text.data(), text.size()) {}
  tstring(const tstring &other) : tstring() { check(tn_string_assign(&string_, &other.string_)); }
  tstring(tstring &&other) noexcept : tstring() { tn_string_move(&string_, &other.string_); }
  ~tstring() { tn_string_dealloc(&string_); }

  tstring &operator=(const tstring &other) {
    check(tn_string_assign(&string_, &other.string_));
    return *this;
  }
  tstring &operator=(tstring &&other) {
    check(tn_string_move(&string_, &other.string_));
    return *this;
  }
  tstring &operator=(const std::string &text) { return assign(text.data(), text.size()); }
  tstring &operator=(const char *text) { return assign(text, strlen(text)); }

  tstring &assign(const char *bytes, size_t size) {
    check(tn_string_copy(&string_, bytes, size));
    return *this;
  }
  /* Refers to bytes that the caller keeps alive. */
  tstring &assign_as_view(const char *bytes, size_t size) {
    check(tn_string_assign_view(&string_, bytes, size));
    return *this;
  }
  tstring &append(const char *bytes, size_t size) {
    check(tn_string_append(&string_, bytes, size));
    return *this;
  }
  tstring &append(const tstring &other) { return append(other.data(), other.size()); }
  void resize(size_t size, char fill = 0) { check(tn_string_resize(&string_, size, fill)); }
  void reserve(size_t capacity) { check(tn_string_reserve(&string_, capacity)); }
  void clear() { resize(0); }

  size_t size() const { return tn_string_size(&string_); }
  size_t length() const { return size(); }
  size_t capacity() const { return tn_string_capacity(&string_); }
  bool empty() const { return size() == 0; }
  Type type() const { return static_cast<Type>(tn_string_type(&string_)); }
  const char *data() const { return tn_string_data(&string_); }
  /* The bytes, which may be written. */
  char *mdata() {
    char *bytes = tn_string_mutable_data(&string_);
    check(bytes != nullptr);
    return bytes;
  }
  const char &operator[](size_t index) const { return data()[index]; }
  const char *begin() const { return data(); }
  const char *end() const { return data() + size(); }

  int compare(const tstring &other) const { return tn_string_compare(&string_, &other.string_); }
  operator std::string() const { return std::string(data(), size()); }

 private:
  static void check(bool has_memory) {
    if (!has_memory) throw std::bad_alloc();
  }
  tn_string_t string_;
};

static_assert(sizeof(tstring) == 24, "a string has 24 bytes");

inline bool operator==(const tstring &a, const tstring &b) { return a.compare(b) == 0; }
inline bool operator!=(const tstring &a, const tstring &b) { return a.compare(b) != 0; }
inline bool operator<(const tstring &a, const tstring &b) { return a.compare(b) < 0; }

}  // namespace tenon

#endif
#endif
