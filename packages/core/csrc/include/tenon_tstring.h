/* String tensors. The rules of tenon.h hold for every function. */
#ifndef TENON_TSTRING_H
#define TENON_TSTRING_H

#include "tenon.h"
#include "tenon/tstring.h"

/* --- string tensors ----------------------------------------------------------------------------------------------- */

/* The layout of the strings of a tensor in memory, with the values of @tenon/tstring. ARROW32 and ARROW64 are a table
 * of count + 1 offsets in the host's byte order, and the bytes to which they refer. */
typedef enum {
  TN_TSTRING_TF = 0,      TN_TSTRING_RFC16 = 1,   TN_TSTRING_RFC24 = 2,
  TN_TSTRING_LEGACY = 3,  TN_TSTRING_TFLITE = 4,  TN_TSTRING_ARROW32 = 5,
  TN_TSTRING_ARROW64 = 6,
} tn_tstring_layout_t;

typedef enum { TN_TSTRING_LE64 = 0, TN_TSTRING_BE64 = 1, TN_TSTRING_LE32 = 2, TN_TSTRING_BE32 = 3 } tn_tstring_abi_t;

/* The type of one string, in the low two bits of its first byte. 3 is VIEW in TensorFlow and PREALLOC in the RFC. */
typedef enum {
  TN_TSTRING_SMALL = 0,
  TN_TSTRING_LARGE = 1,
  TN_TSTRING_OFFSET = 2,
  TN_TSTRING_VIEW = 3,
  TN_TSTRING_PREALLOC = 3
} tn_tstring_type_t;

/* Pointers inside the structs may be followed, because this process has written them and their memory is alive. */
#define TN_TSTRING_FOLLOW 1u
/* Elements must not share bytes, because the tensor will be written in place. */
#define TN_TSTRING_WRITABLE 2u

/* A tensor to read, borrowed for the call. Only pointers are trusted, if FOLLOW is set. Every other word is read once
 * and checked before it is used. */
typedef struct {
  uint32_t struct_size;
  int32_t layout; /* tn_tstring_layout_t */
  int32_t abi;    /* tn_tstring_abi_t; ignored for ARROW */
  uint32_t flags;
  uint64_t count;      /* elements */
  uint64_t table_size; /* bytes */
  uint64_t data_size;  /* bytes */
  const uint8_t *table; /* structs, offsets, or TFLite's header */
  const uint8_t *data;  /* what offsets count from: the whole tensor, or Arrow's data. May differ from `table` when the
                           table was copied out of memory that others can change. */
} tn_tstring_tensor_t;

/* The form in which strings that do not fit a struct are written. */
typedef enum {
  TN_TSTRING_AS_OFFSET = 0,   /* OFFSET into `data`, which follows `table` */
  TN_TSTRING_AS_POINTER = 1,  /* VIEW (TF) or PREALLOC (RFC) into `data`; only for the host's ABI */
  TN_TSTRING_AS_BLOCK = 2,    /* LARGE, each with a block of malloc(); only for the host's ABI */
  TN_TSTRING_AS_BORROWED = 3  /* VIEW or PREALLOC of the bytes of the source, which are not copied */
} tn_tstring_form_t;

/* A tensor to write. `data` receives the bytes of strings; for OFFSET, legacy and TFLite it follows `table` in the same
 * block. The caller owns all memory. */
typedef struct {
  uint32_t struct_size;
  int32_t layout;
  int32_t abi;
  int32_t form;      /* tn_tstring_form_t, for layouts of structs */
  int32_t is_inline; /* 1: strings that fit are SMALL; 0: all have the form `form` */
  int32_t reserved;
  uint64_t table_size;
  uint64_t data_size;
  uint8_t *table;
  uint8_t *data;
} tn_tstring_target_t;

/* A fault of a tensor: the check that failed, the element, the value found, and the limit. */
typedef struct {
  uint32_t struct_size;
  int32_t check; /* tn_tstring_check_t */
  uint64_t index;
  uint64_t value;
  uint64_t limit;
} tn_tstring_fault_t;

/* The checks, which @tenon/tstring describes. */
typedef enum {
  TN_TSTRING_CHECK_NONE = 0,              TN_TSTRING_CHECK_TABLE_SIZE = 1,
  TN_TSTRING_CHECK_STRUCT_TYPE = 2,       TN_TSTRING_CHECK_SMALL_SIZE = 3,
  TN_TSTRING_CHECK_SMALL_NUL = 4,         TN_TSTRING_CHECK_OFFSET_START = 5,
  TN_TSTRING_CHECK_OFFSET_END = 6,        TN_TSTRING_CHECK_BUDGET = 7,
  TN_TSTRING_CHECK_OVERLAP = 8,           TN_TSTRING_CHECK_LEGACY_OFFSET = 9,
  TN_TSTRING_CHECK_VARINT = 10,           TN_TSTRING_CHECK_LEGACY_LENGTH = 11,
  TN_TSTRING_CHECK_VARINT_CANONICAL = 12, TN_TSTRING_CHECK_LEGACY_TIGHT = 13,
  TN_TSTRING_CHECK_TFLITE_HEADER = 14,    TN_TSTRING_CHECK_TFLITE_COUNT = 15,
  TN_TSTRING_CHECK_TFLITE_FIRST = 16,     TN_TSTRING_CHECK_TFLITE_RANGE = 17,
  TN_TSTRING_CHECK_TFLITE_ORDER = 18,     TN_TSTRING_CHECK_TFLITE_TOTAL = 19,
  TN_TSTRING_CHECK_ARROW_RANGE = 20,      TN_TSTRING_CHECK_ARROW_ORDER = 21,
  TN_TSTRING_CHECK_POINTER = 22,          TN_TSTRING_CHECK_SELECTION = 23,
  TN_TSTRING_CHECK_STRING_LIMIT = 24,     TN_TSTRING_CHECK_DISTANCE_LIMIT = 25,
  TN_TSTRING_CHECK_TOTAL_LIMIT = 26,      TN_TSTRING_CHECK_CHANGED = 27,
} tn_tstring_check_t;

/* A function with a fault parameter fills it and returns TN_INVALID_ARGUMENT if the tensor is malformed. */

/* The sizes of all strings of a tensor. */
typedef struct {
  uint64_t total;     /* bytes */
  uint64_t not_small; /* bytes of the strings that do not fit TensorFlow's SMALL */
} tn_tstring_sums_t;

/* Checks a whole tensor from an untrusted source. `strict` is 1 (the form that this library writes) or 0 (all forms
 * that TensorFlow reads). Pointers are refused even with FOLLOW. `budget` limits the sum of the sizes. */
TN_API int32_t tn_tstring_validate(const tn_tstring_tensor_t *tensor, int32_t strict, uint64_t budget,
                                   tn_tstring_sums_t *sums, tn_tstring_fault_t *fault);

/* Memory to which pointers in structs may refer. */
typedef struct {
  uint64_t start, end; /* addresses */
} tn_tstring_range_t;

/* Checks the structs of this machine's ABI that a kernel is about to read: every SMALL and OFFSET, and that the bytes of each VIEW or
 * PREALLOC are in one of the ranges, which are in the order of their addresses, and apart. A LARGE, and a VIEW with an owner, are refused.
 * With FOLLOW, all pointers but null are accepted. */
TN_API int32_t tn_tstring_check_operand(const tn_tstring_tensor_t *tensor, const tn_tstring_range_t *ranges, uint64_t range_count,
                                        tn_tstring_fault_t *fault);

/* Sets table_size and data_size of a target to the bytes that a conversion to its layout, abi, form and is_inline
 * needs. With a selection (`count` indices) only those elements are converted, in that order; otherwise `count` is that
 * of the tensor. The limits of the target layout are checked here. */
TN_API int32_t tn_tstring_measure(const tn_tstring_tensor_t *tensor, const uint32_t *selection, uint64_t count,
                                  tn_tstring_target_t *target, tn_tstring_fault_t *fault);

/* Writes the strings of a tensor in another layout. The target has the table of tn_tstring_measure() and at least its
 * data. data_size becomes the number of bytes written; bytes after them may have changed. CHANGED: the source has grown
 * since it was measured. Limits are not checked again. On failure the blocks of AS_BLOCK are freed. */
TN_API int32_t tn_tstring_convert(const tn_tstring_tensor_t *tensor, const uint32_t *selection, uint64_t count,
                                  tn_tstring_target_t *target, tn_tstring_fault_t *fault);

/* Compares elements as unsigned bytes: out[i] is -1, 0 or 1. `other` has as many elements, or one for all. */
TN_API int32_t tn_tstring_compare(const tn_tstring_tensor_t *tensor, const tn_tstring_tensor_t *other, int8_t *out,
                                  tn_tstring_fault_t *fault);

/* Finds the first element from `from` on with exactly these bytes. The index is the count if there is none. */
TN_API int32_t tn_tstring_find(const tn_tstring_tensor_t *tensor, const uint8_t *bytes, uint64_t byte_size,
                               uint64_t from, uint64_t *index, tn_tstring_fault_t *fault);

/* Writes the XXH32 hash of each element. */
TN_API int32_t tn_tstring_hash(const tn_tstring_tensor_t *tensor, uint32_t seed, uint32_t *out,
                               tn_tstring_fault_t *fault);

/* Finds the first element from `from` on that is not valid UTF-8. The index is the count if there is none. */
TN_API int32_t tn_tstring_find_invalid_utf8(const tn_tstring_tensor_t *tensor, uint64_t from, uint64_t *index,
                                            tn_tstring_fault_t *fault);

/* Copies at most `capacity` bytes of an element, and writes its whole size to `byte_size`. */
TN_API int32_t tn_tstring_read(const tn_tstring_tensor_t *tensor, uint64_t index, uint8_t *out, uint64_t capacity,
                               uint64_t *byte_size, tn_tstring_fault_t *fault);

/* Frees the blocks and owners of `count` structs of the host's ABI. `layout` is TF, RFC16 or RFC24. */
TN_API void tn_tstring_dealloc_all(void *structs, uint64_t count, int32_t layout);

/* --- tstring/element.c: one string as TensorFlow ships it (24 bytes, the host's ABI; tenon/tstring.h) ------------------------------ */

/* `string` is a struct of 24 bytes, at any address, initialised with zeros. Blocks come from malloc(). Sources may
 * overlap the string. On TN_OUT_OF_MEMORY, also for a size that no block can have, the string is unchanged. */

/* Assigns a copy of the bytes: SMALL up to 22 bytes, else LARGE. The old content of a VIEW or OFFSET is not read. */
TN_API int32_t tn_tstring_copy(void *string, const char *bytes, size_t byte_size);
TN_API int32_t tn_tstring_append(void *string, const char *bytes, size_t byte_size);
/* Grows the string with `fill`, or truncates it. */
TN_API int32_t tn_tstring_resize(void *string, size_t byte_size, char fill);
TN_API int32_t tn_tstring_reserve(void *string, size_t capacity);
TN_API int32_t tn_tstring_reserve_amortized(void *string, size_t capacity);
/* Assigns a VIEW without an owner, whose bytes the caller keeps alive. Bytes of the string itself are copied. */
TN_API int32_t tn_tstring_assign_view(void *string, const char *bytes, size_t byte_size);
/* Assigns a VIEW and retains its owner, which is released when the VIEW is overwritten or freed. */
TN_API int32_t tn_tstring_assign_owned_view(void *string, const char *bytes, size_t byte_size,
                                            tn_tstring_owner_t *owner);
TN_API int32_t tn_tstring_assign(void *string, const void *source);
/* `keep_views` is 1 for libraries before November 2025, whose move leaves a source VIEW unchanged instead of empty. */
TN_API int32_t tn_tstring_move(void *string, void *source, int32_t keep_views);
TN_API void tn_tstring_dealloc(void *string);
TN_API int32_t tn_tstring_get_type(const void *string);
TN_API size_t tn_tstring_get_size(const void *string);
TN_API size_t tn_tstring_get_capacity(const void *string);
TN_API const char *tn_tstring_get_data_pointer(const void *string);
/* Returns bytes that may be written, for which a VIEW or OFFSET becomes SMALL or LARGE. Null if there is no memory. */
TN_API char *tn_tstring_get_mutable_data_pointer(void *string);

/* --- tstring/rfc.c: one string of the RFC (`layout` RFC16 or RFC24, the host's ABI) ------------------------------- */

/* Assigns a copy of the bytes, in place if the container of the struct has room. Otherwise the string becomes LARGE and
 * keeps the container in front of its block, until an assignment fits the container again. */
TN_API int32_t tn_tstring_rfc_assign(void *string, int32_t layout, const char *bytes, size_t byte_size);
/* Moves a string to another address. The offset of an OFFSET, also of one in front of a LARGE, is adapted. The source
 * becomes an empty SMALL. TN_INVALID_ARGUMENT: the offset cannot reach the bytes, and nothing has changed. */
TN_API int32_t tn_tstring_rfc_move(void *string, void *source, int32_t layout);
/* Frees the block of a LARGE and restores the container in front of it. */
TN_API void tn_tstring_rfc_dealloc(void *string, int32_t layout);

#endif
