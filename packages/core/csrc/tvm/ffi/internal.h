/* What the files of libtvm_ffi share and nobody else sees. */
#ifndef TENON_TVM_INTERNAL_H
#define TENON_TVM_INTERNAL_H

#include <stdbool.h>
#include <string.h>

#include "tenon/tvm_ffi.h"

#if defined(__GNUC__)
#define TN_PRINTF(format_index, first) __attribute__((format(printf, format_index, first)))
#else
#define TN_PRINTF(format_index, first)
#endif

#define TN_SPAN(literal) ((TVMFFIByteArray){literal, sizeof(literal) - 1})

/* --- object.c ---------------------------------------------------------------------------------------------------- */

/* Makes an object with one strong reference: `size` zeroed bytes with the head filled in. Null without memory. */
void *tn__object_new(size_t size, int32_t type_index, void (*deleter)(void *self, int flags));

/* Gives the memory of such an object back: what its deleter does last. */
void tn__object_free(void *object);

void tn__retain(void *object);
void tn__release(void *object); /* null is a no-op */

/* Defines the deleter of an own kind of object around `destroy(self)`, which frees what the object owns. */
#define TN_DELETER(name, destroy)                                       \
  static void name(void *self, int flags) {                             \
    if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) destroy(self);   \
    if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) tn__object_free(self); \
  }

/* --- any.c --------------------------------------------------------------------------------------------------------- */

static inline bool tn__is_object(const TVMFFIAny *value) { return value->type_index >= kTVMFFIStaticObjectBegin; }

TVMFFIAny tn__none(void);
TVMFFIAny tn__int(int64_t value);
TVMFFIAny tn__bool(bool value);
/* Takes over a reference; null gives None. */
TVMFFIAny tn__object(void *object);
/* A copy with a reference of its own; the value must be one that can be owned. */
TVMFFIAny tn__copy(const TVMFFIAny *value);
/* Gives back what an owned value holds, and leaves None. */
void tn__clear(TVMFFIAny *value);

/* --- string.c ------------------------------------------------------------------------------------------------------- */

/* An owned string (or bytes) value, small if it fits. Returns 0, or -1 with MemoryError raised. */
int tn__text(const char *data, size_t size, TVMFFIAny *out);
/* The bytes of any of the three string forms, or with `bytes` also of the bytes forms. False if it is none. */
bool tn__text_of(const TVMFFIAny *value, bool bytes, TVMFFIByteArray *out);
/* Two spans have the same bytes. */
static inline bool tn__same(TVMFFIByteArray a, TVMFFIByteArray b) {
  return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}
/* The hash of a span that tvm-ffi's containers and types use. */
uint64_t tn__hash(const char *data, size_t size);
/* A NUL-terminated copy that the caller frees; null without memory. */
char *tn__duplicate(TVMFFIByteArray text);

/* --- equal.c ---------------------------------------------------------------------------------------------------------- */

/* Whether containers take two values for the same, and the hash under which they find one. */
bool tn__equal(const TVMFFIAny *a, const TVMFFIAny *b);
uint64_t tn__value_hash(const TVMFFIAny *value);

/* --- error.c ------------------------------------------------------------------------------------------------------- */

/* Raises an error with this kind and text (printf-like) and returns -1. */
TN_PRINTF(2, 3) int tn__raise(const char *kind, const char *format, ...);
int tn__no_memory(void);

/* posix/frames.c, win32/frames.c: the calls in progress on this thread, the most recent first, at most `limit`. The walk
 * ends when `visit` returns false. */
typedef struct {
  const char *library;  /* its path, or null */
  const char *function; /* its name as the linker has it, or null */
  size_t offset;        /* its place in the library */
  bool is_own;          /* of this library */
} tn__frame_t;
void tn__each_frame(int limit, bool (*visit)(const tn__frame_t *frame, void *context), void *context);

/* --- names.c: a map from text to pointers, in order of insertion. Locked by its owner. -------------------------------- */

typedef struct {
  char *key; /* owned, NUL-terminated; null if the entry was removed */
  size_t key_size;
  uint64_t hash;
  void *value;
} tn__name_t;

typedef struct {
  tn__name_t *entries;
  size_t used, capacity, live;
  uint32_t *slots; /* place in entries + 1, or 0; twice the capacity */
} tn__names_t;

/* The place of the value of a key, or null. Valid until the next change. */
void **tn__names_find(const tn__names_t *names, TVMFFIByteArray key);
/* The place of the value, made (null inside) if it is new. Null without memory. */
void **tn__names_add(tn__names_t *names, TVMFFIByteArray key);
bool tn__names_remove(tn__names_t *names, TVMFFIByteArray key);

/* --- type.c ---------------------------------------------------------------------------------------------------------- */

/* The type of an index, or null. */
const TVMFFITypeInfo *tn__type(int32_t type_index);
/* The name of a value's type as messages have it. */
const char *tn__type_name(int32_t type_index);
/* The keys of all types: for each calls `visit`. */
void tn__each_type(void (*visit)(const TVMFFITypeInfo *info, void *context), void *context);

/* --- builtin.c: the global functions ----------------------------------------------------------------------------------- */

typedef struct {
  const char *name;
  TVMFFISafeCallType call;
} tn__builtin_t;

/* Registers functions that live as long as the process. */
void tn__register_builtins(const tn__builtin_t *builtins, size_t count);

/* The object that stands for a missing value, with a reference for the caller. */
void *tn__missing_object(void);

/* Checks of a global function's arguments: 0, or -1 with the error raised. `name` is the function's, for messages. */
int tn__expect_count(const char *name, int32_t expected, int32_t got);
int tn__argument_mismatch(const char *name, int32_t index, const char *expected, const TVMFFIAny *got);
int tn__argument_int(const char *name, const TVMFFIAny *args, int32_t index, int64_t *out);
int tn__argument_text(const char *name, const TVMFFIAny *args, int32_t index, TVMFFIByteArray *out);
int tn__argument_object(const char *name, const TVMFFIAny *args, int32_t index, int32_t type_index, void **out);

#endif
