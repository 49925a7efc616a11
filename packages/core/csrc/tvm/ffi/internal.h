/* The parts of libtvm_ffi that its files share. */
#pragma once

#include <stdbool.h>
#include <string.h>

#include "base/status.h"
#include "legacy.h"

#define TN_SPAN(literal) ((TVMFFIByteArray){literal, sizeof(literal) - 1})

/* --- span.c: spans of text ---------------------------------------------------------------------------------------- */

static inline TVMFFIByteArray tn__span(const char *text) { return (TVMFFIByteArray){text, strlen(text)}; }
static inline bool tn__same(TVMFFIByteArray a, TVMFFIByteArray b) {
  return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}
/* The hash of a span, as tvm-ffi's containers and types compute it. */
uint64_t tn__hash(TVMFFIByteArray span);
/* A NUL-terminated copy that the caller frees; null without memory. */
char *tn__duplicate(TVMFFIByteArray span);
/* The three texts one after another, which the caller frees; null without memory. */
char *tn__join(const char *first, const char *second, const char *third);

/* --- object.c ----------------------------------------------------------------------------------------------------- */

/* Creates an object with one strong reference: `size` zeroed bytes with the head filled in. Null without memory. */
void *tn__object_new(size_t size, int32_t type_index, void (*deleter)(void *self, int flags));

void tn__retain(void *object);
void tn__release(void *object); /* null is a no-op */

/* The object that represents a missing value, retained for the caller. */
void *tn__missing_object(void);

/* The object that separates keyword arguments from those before them, retained for the caller. */
void *tn__kwargs_object(void);
bool tn__is_kwargs(const TVMFFIAny *value);

/* --- any.c -------------------------------------------------------------------------------------------------------- */

static inline bool tn__is_object(const TVMFFIAny *value) { return value->type_index >= kTVMFFIStaticObjectBegin; }

static inline TVMFFIAny tn__none(void) { return (TVMFFIAny){.type_index = kTVMFFINone}; }
static inline TVMFFIAny tn__int(int64_t value) { return (TVMFFIAny){.type_index = kTVMFFIInt, .v_int64 = value}; }
static inline TVMFFIAny tn__bool(bool value) { return (TVMFFIAny){.type_index = kTVMFFIBool, .v_int64 = value}; }
/* Takes ownership of a reference; null gives None. */
static inline TVMFFIAny tn__object(void *object) {
  if (object == NULL) return tn__none();
  return (TVMFFIAny){.type_index = ((TVMFFIObject *)object)->type_index, .v_obj = object};
}
/* A copy that owns a reference of its own; the value must not be a view. */
TVMFFIAny tn__copy(const TVMFFIAny *value);
/* Releases the object of an owned value, and leaves None. */
void tn__clear(TVMFFIAny *value);

/* --- string.c ----------------------------------------------------------------------------------------------------- */

/* An owned string, stored in the value itself if it is short. Returns 0, or -1 with MemoryError raised. */
int tn__text(const char *data, size_t size, TVMFFIAny *out);
/* The span of a string in any of its three forms, or with `bytes` also of bytes. False if the value is neither. */
bool tn__text_of(const TVMFFIAny *value, bool bytes, TVMFFIByteArray *out);

/* --- equal.c ------------------------------------------------------------------------------------------------------ */

/* Whether containers treat two values as the same key, and the hash of a key. */
bool tn__equal(const TVMFFIAny *a, const TVMFFIAny *b);
uint64_t tn__value_hash(const TVMFFIAny *value);

/* --- error.c ------------------------------------------------------------------------------------------------------ */

/* Raises an error with this kind and message (printf-like) and returns -1. */
TN_PRINTF(2, 3) int tn__raise(const char *kind, const char *format, ...);
int tn__no_memory(void);

/* --- posix/address.c, win32/address.c ----------------------------------------------------------------------------- */

/* A call in progress on the calling thread. */
typedef struct {
  const char *library;  /* the path of its library, or null */
  const char *function; /* its symbol, or null */
  size_t offset;        /* its offset in the library */
  bool is_own;          /* whether it belongs to this library */
} tn__frame_t;
/* Calls `visit` for at most `limit` frames, the most recent first, until it returns false. */
void tn__each_frame(int limit, bool (*visit)(const tn__frame_t *frame, void *context), void *context);

/* --- names.c: a map from text to pointers in order of insertion, locked by its owner ------------------------------ */

typedef struct {
  char *key; /* owned, NUL-terminated; null if the entry was removed */
  size_t key_size;
  uint64_t hash;
  void *value;
} tn__name_t;

typedef struct {
  tn__name_t *entries;
  size_t used, capacity, live;
  uint32_t *slots; /* the index of an entry + 1, or 0; twice the capacity */
} tn__names_t;

void *tn__names_get(const tn__names_t *names, TVMFFIByteArray key);
/* The address of a key's value, which is null if the key is new. Null without memory; valid until the next change. */
void **tn__names_add(tn__names_t *names, TVMFFIByteArray key);
void *tn__names_remove(tn__names_t *names, TVMFFIByteArray key);

/* --- type.c ------------------------------------------------------------------------------------------------------- */

/* Type indices are smaller than this. */
#define TN_TYPE_LIMIT 65536
const char *tn__type_name(int32_t type_index);

/* --- arguments.c: the arguments of this library's global functions ------------------------------------------------ */

typedef struct {
  const char *name;
  const TVMFFIAny *args;
  int32_t num_args;
  int32_t type_index; /* as in tn__builtin_t */
  TVMFFIAny *result;
} tn__call_t;

/* A global function of this library. `run` returns 0, or -1 with an error raised. */
typedef struct {
  const char *name;
  int (*run)(const tn__call_t *call);
  int32_t num_args;   /* checked before `run` is called; TN_ANY_COUNT accepts any number */
  int32_t type_index; /* the type of the container that the function creates, or takes as its first argument; or 0 */
} tn__builtin_t;

#define TN_ANY_COUNT (-1)

/* Ends a call with an owned result: returns 0. */
static inline int tn__give(const tn__call_t *call, TVMFFIAny result) {
  *call->result = result;
  return 0;
}

/* The safe call of a tn__builtin_t. It checks the number of arguments and, if that is fixed, the type of the first. */
int tn__call_builtin(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result);

/* Checks of arguments: 0, or -1 with an error raised. */
int tn__expect_count(const tn__call_t *call, int32_t expected);
int tn__argument_mismatch(const tn__call_t *call, int32_t index, const char *expected);
int tn__argument_int(const tn__call_t *call, int32_t index, int64_t *out);
int tn__argument_text(const tn__call_t *call, int32_t index, TVMFFIByteArray *out);

/* --- registry.c --------------------------------------------------------------------------------------------------- */

/* The size of the longest name of a loader of modules, with its NUL. */
#define TN_LOADER_NAME 128

/* Looks up the function `prefix + kind`, retained for the caller, and writes its name. Null if it is not registered. */
TVMFFIObjectHandle tn__find_loader(const char *prefix, TVMFFIByteArray kind, char name[TN_LOADER_NAME]);

/* --- tables of global functions, each up to an entry without a name: registered by builtin.c ---------------------- */

extern const tn__builtin_t tn__creation_builtins[], tn__device_builtins[], tn__dictionary_builtins[],
    tn__library_builtins[], tn__module_builtins[], tn__registry_builtins[], tn__sequence_builtins[];

/* tensor.c: creates a Shape of integers. 0, or -1 with an error raised. */
int tn__shape_make(const TVMFFIAny *sizes, int32_t count, TVMFFIAny *result);

/* sequence.c: creates an Array or a List of borrowed values. 0, or -1 with an error raised. */
int tn__sequence_make(int32_t type_index, const TVMFFIAny *values, int32_t count, TVMFFIAny *result);
