/* A part of tenon.h, which says what holds for every function: string tensors. */
#ifndef TENON_TSTRING_H
#define TENON_TSTRING_H

#include "tenon.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- string tensors ------------------------------------------------------------------------------ */

/* How the strings of a tensor lie in memory. The values are shared with @tenon/tstring. ARROW32 and ARROW64 are an
 * offsets table (count + 1 integers of the host's order) and the bytes it points into. */
typedef enum {
  TN_TSTRING_TF = 0,
  TN_TSTRING_RFC16 = 1,
  TN_TSTRING_RFC24 = 2,
  TN_TSTRING_LEGACY = 3,
  TN_TSTRING_TFLITE = 4,
  TN_TSTRING_ARROW32 = 5,
  TN_TSTRING_ARROW64 = 6
} tn_tstring_layout_t;

typedef enum { TN_TSTRING_LE64 = 0, TN_TSTRING_BE64 = 1, TN_TSTRING_LE32 = 2, TN_TSTRING_BE32 = 3 } tn_tstring_abi_t;

/* The type of one string: the low two bits of its first byte. 3 is VIEW as shipped and PREALLOC in the RFC. */
typedef enum {
  TN_TSTRING_SMALL = 0,
  TN_TSTRING_LARGE = 1,
  TN_TSTRING_OFFSET = 2,
  TN_TSTRING_VIEW = 3,
  TN_TSTRING_PREALLOC = 3
} tn_tstring_type_t;

/* Pointers inside the structs may be followed: they were written by this process and what they name is alive. */
#define TN_TSTRING_FOLLOW 1u
/* The tensor will be written in place, so no two elements may share bytes. */
#define TN_TSTRING_WRITABLE 2u

/* A tensor to read. All memory is borrowed for the call. Nothing in it is trusted but the pointers when FOLLOW is set:
 * every word is read once, checked and then used. */
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

/* How strings that don't fit a struct are written. */
typedef enum {
  TN_TSTRING_AS_OFFSET = 0,   /* OFFSET into `data`, which lies behind `table` */
  TN_TSTRING_AS_POINTER = 1,  /* VIEW (TF) or PREALLOC (RFC) into `data`; the host's ABI only */
  TN_TSTRING_AS_BLOCK = 2,    /* LARGE, each in a malloc block of its own; the host's ABI only */
  TN_TSTRING_AS_BORROWED = 3  /* VIEW or PREALLOC onto the source's bytes, which are not copied */
} tn_tstring_form_t;

/* A tensor to write. `data` is where the bytes of strings go; for OFFSET, legacy and TFLite it lies behind `table` in
 * the same block. All memory is the caller's. */
typedef struct {
  uint32_t struct_size;
  int32_t layout;
  int32_t abi;
  int32_t form;      /* tn_tstring_form_t, for layouts of structs */
  int32_t is_inline; /* whether strings that fit are SMALL; else all are as `form` says */
  int32_t reserved;
  uint64_t table_size;
  uint64_t data_size;
  uint8_t *table;
  uint8_t *data;
} tn_tstring_target_t;

/* What is wrong with a tensor, for a message: which check, at which element, the value found and the limit. */
typedef struct {
  uint32_t struct_size;
  int32_t check; /* tn_tstring_check_t */
  uint64_t index;
  uint64_t value;
  uint64_t limit;
} tn_tstring_fault_t;

/* The checks. @tenon/tstring has the rules and the words for them. */
typedef enum {
  TN_TSTRING_CHECK_NONE = 0,
  TN_TSTRING_CHECK_TABLE_SIZE = 1,
  TN_TSTRING_CHECK_STRUCT_TYPE = 2,
  TN_TSTRING_CHECK_SMALL_SIZE = 3,
  TN_TSTRING_CHECK_SMALL_NUL = 4,
  TN_TSTRING_CHECK_OFFSET_START = 5,
  TN_TSTRING_CHECK_OFFSET_END = 6,
  TN_TSTRING_CHECK_BUDGET = 7,
  TN_TSTRING_CHECK_OVERLAP = 8,
  TN_TSTRING_CHECK_LEGACY_OFFSET = 9,
  TN_TSTRING_CHECK_VARINT = 10,
  TN_TSTRING_CHECK_LEGACY_LENGTH = 11,
  TN_TSTRING_CHECK_VARINT_CANONICAL = 12,
  TN_TSTRING_CHECK_LEGACY_TIGHT = 13,
  TN_TSTRING_CHECK_TFLITE_HEADER = 14,
  TN_TSTRING_CHECK_TFLITE_COUNT = 15,
  TN_TSTRING_CHECK_TFLITE_FIRST = 16,
  TN_TSTRING_CHECK_TFLITE_RANGE = 17,
  TN_TSTRING_CHECK_TFLITE_ORDER = 18,
  TN_TSTRING_CHECK_TFLITE_TOTAL = 19,
  TN_TSTRING_CHECK_ARROW_RANGE = 20,
  TN_TSTRING_CHECK_ARROW_ORDER = 21,
  TN_TSTRING_CHECK_POINTER = 22,
  TN_TSTRING_CHECK_SELECTION = 23,
  TN_TSTRING_CHECK_STRING_LIMIT = 24,
  TN_TSTRING_CHECK_DISTANCE_LIMIT = 25,
  TN_TSTRING_CHECK_TOTAL_LIMIT = 26,
  TN_TSTRING_CHECK_CHANGED = 27
} tn_tstring_check_t;

/* Every function below that takes a fault fills it and returns TN_INVALID_ARGUMENT when the tensor is at fault. */

/* The sizes of all strings of a tensor. */
typedef struct {
  uint64_t total;     /* bytes */
  uint64_t not_small; /* bytes of the strings that are larger than a shipped SMALL */
} tn_tstring_sums_t;

/* Checks a whole tensor that came from outside. `strict` is 1 (as this library writes) or 0 (as upstream's readers
 * accept); FOLLOW is ignored: pointers from outside are refused. `budget` bounds the sum of the sizes. */
TN_API int32_t tn_tstring_validate(const tn_tstring_tensor_t *tensor, int32_t strict, uint64_t budget,
                                   tn_tstring_sums_t *sums, tn_tstring_fault_t *fault);

/* The bytes that converting needs: target->layout, abi, form and is_inline are read, table_size and data_size are
 * written. With a selection (`count` indices) only those elements, in that order; else count must be the tensor's.
 * Limits of the target layout are checked here, before anything is written. */
TN_API int32_t tn_tstring_measure(const tn_tstring_tensor_t *tensor, const uint32_t *selection, uint64_t count,
                                  tn_tstring_target_t *target, tn_tstring_fault_t *fault);

/* Writes the strings of a tensor in another layout. The target has the table that tn_tstring_measure() tells and at
 * least its data; data_size becomes what was used (bytes behind that may have changed). If the strings need more,
 * because the source has grown, CHANGED is reported and nothing is written past it. Limits of the layout are not
 * checked again. AS_BLOCK: the blocks are malloc's; on failure those made already are freed. */
TN_API int32_t tn_tstring_convert(const tn_tstring_tensor_t *tensor, const uint32_t *selection, uint64_t count,
                                  tn_tstring_target_t *target, tn_tstring_fault_t *fault);

/* Compares element by element as unsigned bytes, the shorter first: out[i] is -1, 0 or 1. `other` has as many elements,
 * or one, which is compared with all. */
TN_API int32_t tn_tstring_compare(const tn_tstring_tensor_t *tensor, const tn_tstring_tensor_t *other, int8_t *out,
                                  tn_tstring_fault_t *fault);

/* The index of the first element from `from` on that has exactly these bytes; the count if none has. */
TN_API int32_t tn_tstring_find(const tn_tstring_tensor_t *tensor, const uint8_t *bytes, uint64_t byte_size,
                               uint64_t from, uint64_t *index, tn_tstring_fault_t *fault);

/* XXH32 of each element. */
TN_API int32_t tn_tstring_hash(const tn_tstring_tensor_t *tensor, uint32_t seed, uint32_t *out,
                               tn_tstring_fault_t *fault);

/* The index of the first element from `from` on that is not valid UTF-8; the count if all are. */
TN_API int32_t tn_tstring_find_invalid_utf8(const tn_tstring_tensor_t *tensor, uint64_t from, uint64_t *index,
                                            tn_tstring_fault_t *fault);

/* Copies at most `capacity` bytes of element `index` and gives its whole size. */
TN_API int32_t tn_tstring_read(const tn_tstring_tensor_t *tensor, uint64_t index, uint8_t *out, uint64_t capacity,
                               uint64_t *byte_size, tn_tstring_fault_t *fault);

/* Frees what `count` structs of the host's ABI own: blocks of LARGE, owners of VIEW. `layout` is TF, RFC16 or RFC24.
 * They are left as tn_tstring_dealloc() and tn_tstring_rfc_dealloc() leave them. */
TN_API void tn_tstring_dealloc_all(void *structs, uint64_t count, int32_t layout);

/* --- tstring/element.c: one string as TensorFlow shipped it (24 bytes, the host's ABI) -------------------------- */

/* What a VIEW may name in its last word (since TensorFlow 2.21): who keeps the viewed bytes alive. */
typedef struct tn_tstring_owner {
  void (*ref)(struct tn_tstring_owner *self);
  bool (*unref)(struct tn_tstring_owner *self); /* true when it was the last reference */
  void *object;
} tn_tstring_owner_t;

/* `string` is a struct of 24 bytes, at any address, that tn_tstring_init() or zeroing made valid. Blocks come from
 * malloc. Sources may overlap the string itself: they are read before anything is freed. A size that no block can have
 * is TN_OUT_OF_MEMORY, and the string is unchanged. */

TN_API void tn_tstring_init(void *string);
/* The content becomes these bytes: SMALL up to 22, else LARGE. The old content of a VIEW or OFFSET is not read. */
TN_API int32_t tn_tstring_copy(void *string, const char *bytes, size_t byte_size);
TN_API int32_t tn_tstring_append(void *string, const char *bytes, size_t byte_size);
/* Grows with `fill` or cuts; TN_OUT_OF_MEMORY leaves it as it is. */
TN_API int32_t tn_tstring_resize(void *string, size_t byte_size, char fill);
TN_API int32_t tn_tstring_reserve(void *string, size_t capacity);
TN_API int32_t tn_tstring_reserve_amortized(void *string, size_t capacity);
/* A VIEW with no owner: the caller keeps the bytes alive. Bytes of the string itself are copied instead. */
TN_API int32_t tn_tstring_assign_view(void *string, const char *bytes, size_t byte_size);
/* A VIEW whose owner is referenced once now and released when the VIEW is overwritten or freed. */
TN_API int32_t tn_tstring_assign_owned_view(void *string, const char *bytes, size_t byte_size,
                                            tn_tstring_owner_t *owner);
TN_API int32_t tn_tstring_assign(void *string, const void *source);
/* `keep_views` is 1 for libraries before November 2025: a VIEW moved from stays a VIEW; else it becomes empty. */
TN_API int32_t tn_tstring_move(void *string, void *source, int32_t keep_views);
TN_API void tn_tstring_dealloc(void *string);
TN_API int32_t tn_tstring_get_type(const void *string);
TN_API size_t tn_tstring_get_size(const void *string);
TN_API size_t tn_tstring_get_capacity(const void *string);
TN_API const char *tn_tstring_get_data_pointer(const void *string);
/* Bytes that may be written: a VIEW or OFFSET becomes SMALL or LARGE first. Null when there is no memory. */
TN_API char *tn_tstring_get_mutable_data_pointer(void *string);

/* --- tstring/rfc.c: one string as the RFC has it (`layout` RFC16 or RFC24, the host's ABI) ---------------------- */

/* The content becomes these bytes, in place if the struct's own container has the room; else LARGE, which keeps that
 * container in front of its block until an assignment fits it again. */
TN_API int32_t tn_tstring_rfc_assign(void *string, int32_t layout, const char *bytes, size_t byte_size);
/* Moves to another address. An OFFSET, and one kept in front of a LARGE, is rebased; TN_INVALID_ARGUMENT if it can't
 * reach its bytes from there, and nothing has changed. The source becomes an empty SMALL. */
TN_API int32_t tn_tstring_rfc_move(void *string, void *source, int32_t layout);
/* Frees the block of a LARGE and restores the container kept in front of it. */
TN_API void tn_tstring_rfc_dealloc(void *string, int32_t layout);

#ifdef __cplusplus
}
#endif
#endif
