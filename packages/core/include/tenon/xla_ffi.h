/* The C ABI of XLA's typed custom calls ("XLA FFI"), versions 0.1 to 0.4, for 64-bit platforms.
 *
 * A typed custom call is a function `tn_xla_error_t *handler(tn_xla_call_frame_t *)`. The frame contains the operands,
 * the results, the attributes and the runtime's table of functions (`frame->api`). This header describes only those
 * bytes and needs no part of XLA. A handler that is compiled with it runs under XLA and under Tenon. xla_handler.h has
 * helpers for writing handlers.
 *
 * Conventions of the ABI:
 * - Most structs begin with `struct_size` and a list of extensions. The size to put there is the matching
 *   TN_XLA_SIZE_* constant: the end of the last field that the version declared, which is not always sizeof.
 * - A larger `struct_size` than expected does not promise readable bytes beyond the struct.
 * - Enumerations are 32 bits wide. Here they are int32_t fields with named values, because C does not define the width of
 *   an enum.
 * - Spans are (pointer, length) and not NUL-terminated.
 * - The receiver of an error destroys it: the runtime for errors that handlers return, handlers for errors that the table
 *   returns.
 *
 * Versions differ in three places, which `struct_size` does not distinguish: the arguments of State_Set and State_Get,
 * those of Type_Register, and the length of the table. Structs that differ carry the version as a suffix: `_v1` is 0.1,
 * `_v2` is 0.2, `_v3` is 0.3. A runtime asks a handler for its version first (tn_xla_metadata_extension_t). Two places do
 * differ by `struct_size`: the arguments of Handler_Register, and those of Error_GetMessage, which 0.4 calls
 * Error_GetDetails.
 */
#ifndef TENON_XLA_FFI_H
#define TENON_XLA_FFI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#define TN_XLA_ASSERT(condition, text) static_assert(condition, text)
#else
#define TN_XLA_ASSERT(condition, text) _Static_assert(condition, text)
#endif

/* Checks one struct: sizeof, then the offset of its last field. TN_XLA_FIELD checks the offset of any other. */
#define TN_XLA_LAYOUT(type, size, last, offset)           \
  TN_XLA_ASSERT(sizeof(type) == (size), #type " size");   \
  TN_XLA_ASSERT(offsetof(type, last) == (offset), #type "." #last)
#define TN_XLA_FIELD(type, field, offset) TN_XLA_ASSERT(offsetof(type, field) == (offset), #type "." #field)

TN_XLA_ASSERT(sizeof(void *) == 8 && sizeof(size_t) == 8, "XLA FFI is described here for 64-bit platforms");

/* --- Values --------------------------------------------------------------------------------------------------- */

/* The error codes with names. A handler can use any int32. */
enum {
  TN_XLA_OK = 0,
  TN_XLA_CANCELLED = 1,
  TN_XLA_UNKNOWN = 2,
  TN_XLA_INVALID_ARGUMENT = 3,
  TN_XLA_DEADLINE_EXCEEDED = 4,
  TN_XLA_NOT_FOUND = 5,
  TN_XLA_ALREADY_EXISTS = 6,
  TN_XLA_PERMISSION_DENIED = 7,
  TN_XLA_RESOURCE_EXHAUSTED = 8,
  TN_XLA_FAILED_PRECONDITION = 9,
  TN_XLA_ABORTED = 10,
  TN_XLA_OUT_OF_RANGE = 11,
  TN_XLA_UNIMPLEMENTED = 12,
  TN_XLA_INTERNAL = 13,
  TN_XLA_UNAVAILABLE = 14,
  TN_XLA_DATA_LOSS = 15,
  TN_XLA_UNAUTHENTICATED = 16
};

/* Element types: name, value, bytes of one element in memory. Elements of 1, 2 and 4 bits take a whole byte. */
#define TN_XLA_DTYPES(X) \
  X(INVALID, 0, 0)       \
  X(PRED, 1, 1)          \
  X(S8, 2, 1)            \
  X(S16, 3, 2)           \
  X(S32, 4, 4)           \
  X(S64, 5, 8)           \
  X(U8, 6, 1)            \
  X(U16, 7, 2)           \
  X(U32, 8, 4)           \
  X(U64, 9, 8)           \
  X(F16, 10, 2)          \
  X(F32, 11, 4)          \
  X(F64, 12, 8)          \
  X(C64, 15, 8)          \
  X(BF16, 16, 2)         \
  X(TOKEN, 17, 0)        \
  X(C128, 18, 16)        \
  X(F8E5M2, 19, 1)       \
  X(F8E4M3FN, 20, 1)     \
  X(S4, 21, 1)           \
  X(U4, 22, 1)           \
  X(F8E4M3B11FNUZ, 23, 1) \
  X(F8E5M2FNUZ, 24, 1)   \
  X(F8E4M3FNUZ, 25, 1)   \
  X(S2, 26, 1)           \
  X(U2, 27, 1)           \
  X(F8E4M3, 28, 1)       \
  X(F8E3M4, 29, 1)       \
  X(S1, 30, 1)           \
  X(U1, 31, 1)           \
  X(F4E2M1FN, 32, 1)     \
  X(F8E8M0FNU, 33, 1)

enum {
#define TN_XLA_DTYPE_VALUE(name, value, bytes) TN_XLA_##name = (value),
  TN_XLA_DTYPES(TN_XLA_DTYPE_VALUE)
#undef TN_XLA_DTYPE_VALUE
};

/* Stages of a call site: instantiate once (attributes only), then prepare, initialize and execute for each run. A record
 * handler adds the work of a run to a command buffer of XLA; Tenon never runs it. */
enum { TN_XLA_INSTANTIATE = 0, TN_XLA_PREPARE = 1, TN_XLA_INITIALIZE = 2, TN_XLA_EXECUTE = 3, TN_XLA_RECORD = 4 };

enum { TN_XLA_BUFFER = 1 };                                                       /* the kind of an operand or a result */
enum { TN_XLA_ARRAY = 1, TN_XLA_DICTIONARY = 2, TN_XLA_SCALAR = 3, TN_XLA_STRING = 4 }; /* the kind of an attribute */
enum { TN_XLA_EXTENSION_METADATA = 1 };
enum { TN_XLA_TRAIT_COMMAND_BUFFER_COMPATIBLE = 1 };

/* --- Pieces --------------------------------------------------------------------------------------------------- */

typedef struct tn_xla_api tn_xla_api_t;         /* the runtime's table, below */
typedef struct tn_xla_context tn_xla_context_t; /* one invocation, opaque to handlers */
typedef struct tn_xla_error tn_xla_error_t;     /* opaque; created and destroyed through the table */
typedef struct tn_xla_future tn_xla_future_t;   /* opaque; created and completed through the table */

typedef struct tn_xla_extension {
  size_t struct_size;
  int32_t type;
  struct tn_xla_extension *next;
} tn_xla_extension_t;
TN_XLA_LAYOUT(tn_xla_extension_t, 24, next, 16);

/* The id of an extension that the context of a call offers (0.4). */
typedef struct tn_xla_extension_id {
  int64_t type;
  int32_t major_version;
  int32_t minor_version;
} tn_xla_extension_id_t;
TN_XLA_LAYOUT(tn_xla_extension_id_t, 16, minor_version, 12);
TN_XLA_FIELD(tn_xla_extension_id_t, major_version, 8);

/* The start of an extension that the context of a call offers (0.4). */
typedef struct tn_xla_context_extension {
  size_t struct_size;
  tn_xla_extension_id_t id;
  const struct tn_xla_context_extension *next;
} tn_xla_context_extension_t;
TN_XLA_LAYOUT(tn_xla_context_extension_t, 32, next, 24);
TN_XLA_FIELD(tn_xla_context_extension_t, id, 8);

typedef struct tn_xla_api_version {
  size_t struct_size;
  tn_xla_extension_t *extension_start;
  int32_t major_version;
  int32_t minor_version;
} tn_xla_api_version_t;
TN_XLA_LAYOUT(tn_xla_api_version_t, 24, minor_version, 20);

/* Borrowed bytes. */
typedef struct tn_xla_span {
  const char *ptr;
  size_t len;
} tn_xla_span_t;
TN_XLA_LAYOUT(tn_xla_span_t, 16, len, 8);

/* A dense row-major array. `data` is borrowed for the call (until the future completes); it may be null when the array
 * has no elements. Handlers may not write to operands. */
typedef struct tn_xla_buffer {
  size_t struct_size;
  tn_xla_extension_t *extension_start;
  int32_t dtype;
  void *data;
  int64_t rank;
  int64_t *dims; /* `rank` of them */
} tn_xla_buffer_t;
TN_XLA_LAYOUT(tn_xla_buffer_t, 48, dims, 40);
TN_XLA_FIELD(tn_xla_buffer_t, dtype, 16);
TN_XLA_FIELD(tn_xla_buffer_t, data, 24);
TN_XLA_FIELD(tn_xla_buffer_t, rank, 32);

typedef struct tn_xla_scalar {
  int32_t dtype;
  void *value;
} tn_xla_scalar_t;
TN_XLA_LAYOUT(tn_xla_scalar_t, 16, value, 8);

/* A flat array attribute; `size` counts elements. */
typedef struct tn_xla_array {
  int32_t dtype;
  size_t size;
  void *data;
} tn_xla_array_t;
TN_XLA_LAYOUT(tn_xla_array_t, 24, data, 16);
TN_XLA_FIELD(tn_xla_array_t, size, 8);

/* The id of a user's type in this process. 0 means that it is not registered yet. */
typedef struct tn_xla_type_id {
  int64_t type_id;
} tn_xla_type_id_t;

/* The deleter with which the runtime destroys objects of a registered type (0.2 and later). */
typedef struct tn_xla_type_info {
  size_t struct_size;
  tn_xla_extension_t *extension_start;
  void (*deleter)(void *object);
} tn_xla_type_info_t;
TN_XLA_LAYOUT(tn_xla_type_info_t, 24, deleter, 16);

/* --- The call frame ------------------------------------------------------------------------------------------- */

typedef struct tn_xla_args {
  size_t struct_size;
  tn_xla_extension_t *extension_start;
  int64_t size;
  int32_t *types; /* TN_XLA_BUFFER each */
  void **args;    /* tn_xla_buffer_t* each */
} tn_xla_args_t;
TN_XLA_LAYOUT(tn_xla_args_t, 40, args, 32);
TN_XLA_FIELD(tn_xla_args_t, size, 16);
TN_XLA_FIELD(tn_xla_args_t, types, 24);

typedef struct tn_xla_rets {
  size_t struct_size;
  tn_xla_extension_t *extension_start;
  int64_t size;
  int32_t *types; /* TN_XLA_BUFFER each */
  void **rets;    /* tn_xla_buffer_t* each */
} tn_xla_rets_t;
TN_XLA_LAYOUT(tn_xla_rets_t, 40, rets, 32);

/* Attributes, sorted by the bytes of their names, also inside dictionaries. */
typedef struct tn_xla_attrs {
  size_t struct_size;
  tn_xla_extension_t *extension_start;
  int64_t size;
  int32_t *types;        /* TN_XLA_ARRAY, TN_XLA_DICTIONARY, TN_XLA_SCALAR or TN_XLA_STRING */
  tn_xla_span_t **names;
  void **attrs;          /* tn_xla_array_t*, tn_xla_attrs_t*, tn_xla_scalar_t* or tn_xla_span_t* */
} tn_xla_attrs_t;
TN_XLA_LAYOUT(tn_xla_attrs_t, 48, attrs, 40);
TN_XLA_FIELD(tn_xla_attrs_t, size, 16);
TN_XLA_FIELD(tn_xla_attrs_t, types, 24);
TN_XLA_FIELD(tn_xla_attrs_t, names, 32);

/* The argument of a handler, which may set `future` and return null to finish later. Then args, rets and attrs live
 * until the future completes, but the frame and `ctx` only until the handler returns. */
typedef struct tn_xla_call_frame {
  size_t struct_size; /* exactly TN_XLA_SIZE_CALL_FRAME */
  tn_xla_extension_t *extension_start;
  const tn_xla_api_t *api;
  tn_xla_context_t *ctx;
  int32_t stage;
  tn_xla_args_t args;
  tn_xla_rets_t rets;
  tn_xla_attrs_t attrs;
  tn_xla_future_t *future; /* out */
} tn_xla_call_frame_t;
TN_XLA_LAYOUT(tn_xla_call_frame_t, 176, future, 168);
TN_XLA_FIELD(tn_xla_call_frame_t, api, 16);
TN_XLA_FIELD(tn_xla_call_frame_t, ctx, 24);
TN_XLA_FIELD(tn_xla_call_frame_t, stage, 32);
TN_XLA_FIELD(tn_xla_call_frame_t, args, 40);
TN_XLA_FIELD(tn_xla_call_frame_t, rets, 80);
TN_XLA_FIELD(tn_xla_call_frame_t, attrs, 120);

/* A typed custom call. Null is success. The caller owns the error. */
typedef tn_xla_error_t *tn_xla_handler_t(tn_xla_call_frame_t *frame);

/* The handlers of one target. Only `execute` is required. */
typedef struct tn_xla_bundle {
  tn_xla_handler_t *instantiate;
  tn_xla_handler_t *prepare;
  tn_xla_handler_t *initialize;
  tn_xla_handler_t *execute;
  tn_xla_handler_t *record; /* 0.4, and late headers of 0.3 */
} tn_xla_bundle_t;
TN_XLA_LAYOUT(tn_xla_bundle_t, 40, record, 32);
TN_XLA_FIELD(tn_xla_bundle_t, execute, 24);

/* The bundle of older headers. */
typedef struct tn_xla_bundle_v1 {
  tn_xla_handler_t *instantiate;
  tn_xla_handler_t *prepare;
  tn_xla_handler_t *initialize;
  tn_xla_handler_t *execute;
} tn_xla_bundle_v1_t;
TN_XLA_LAYOUT(tn_xla_bundle_v1_t, 32, execute, 24);

/* The metadata of a handler. Versions from 0.2 write `state_type_id` whatever `struct_size` is, so the memory must have
 * room for all 48 bytes. */
typedef struct tn_xla_metadata {
  size_t struct_size;
  tn_xla_api_version_t api_version;
  uint32_t traits;
  tn_xla_type_id_t state_type_id; /* 0.2 and later */
} tn_xla_metadata_t;
TN_XLA_LAYOUT(tn_xla_metadata_t, 48, state_type_id, 40);
TN_XLA_FIELD(tn_xla_metadata_t, api_version, 8);
TN_XLA_FIELD(tn_xla_metadata_t, traits, 32);

/* A frame whose first extension is this one asks for the metadata, at any stage. The handler writes the metadata, does
 * nothing else and returns null. */
typedef struct tn_xla_metadata_extension {
  tn_xla_extension_t base;
  tn_xla_metadata_t *metadata;
} tn_xla_metadata_extension_t;
TN_XLA_LAYOUT(tn_xla_metadata_extension_t, 32, metadata, 24);

/* --- Declared sizes ------------------------------------------------------------------------------------------- */

/* The `struct_size` of each struct for which it is not sizeof. */
enum {
  TN_XLA_SIZE_CALL_FRAME = 168,
  TN_XLA_SIZE_METADATA = 36,
  TN_XLA_SIZE_ERROR_CREATE = 28,
  TN_XLA_SIZE_ERROR_GET_DETAILS = 36,
  TN_XLA_SIZE_HANDLER_REGISTER_V1 = 84, /* without `record` */
  TN_XLA_SIZE_HANDLER_REGISTER = 92,
  TN_XLA_SIZE_TYPE_REGISTER = 40,
  TN_XLA_SIZE_FUTURE_CREATE = 16,
  TN_XLA_SIZE_DEVICE_ORDINAL_GET = 28,
  TN_XLA_SIZE_API_V1 = 88, /* 0.1 declared too little: its table is 176 bytes long */
  TN_XLA_SIZE_API_V2 = 192,
  TN_XLA_SIZE_API = 200
};

#ifdef __cplusplus
}
#endif

#include "xla_ffi_api.h"

#endif
