/* The runtime's table of XLA FFI functions and the arguments of each. xla_ffi.h includes this header; never include it
 * directly. */
#ifndef TENON_XLA_FFI_API_H
#define TENON_XLA_FFI_API_H

#ifndef TENON_XLA_FFI_H
#error "include <tenon/xla_ffi.h>"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* --- Arguments of the table's functions ------------------------------------------------------------------------- */

#define TN_XLA_HEAD                      \
  size_t struct_size;                    \
  tn_xla_extension_t *extension_start

typedef struct tn_xla_error_create_args {
  TN_XLA_HEAD;
  const char *message; /* NUL-terminated, copied */
  int32_t errc;
} tn_xla_error_create_args_t;
TN_XLA_LAYOUT(tn_xla_error_create_args_t, 32, errc, 24);

typedef struct tn_xla_error_get_message_args {
  TN_XLA_HEAD;
  tn_xla_error_t *error;
  const char *message; /* out: NUL-terminated, owned by the error */
} tn_xla_error_get_message_args_t;
TN_XLA_LAYOUT(tn_xla_error_get_message_args_t, 32, message, 24);

/* 0.4 and later. The function is that of Error_GetMessage, which `struct_size` tells apart. */
typedef struct tn_xla_error_get_details_args {
  TN_XLA_HEAD;
  tn_xla_error_t *error;
  const char *message; /* out: NUL-terminated, owned by the error */
  int32_t errc;        /* out */
} tn_xla_error_get_details_args_t;
TN_XLA_LAYOUT(tn_xla_error_get_details_args_t, 40, errc, 32);
TN_XLA_FIELD(tn_xla_error_get_details_args_t, message, 24);

typedef struct tn_xla_error_destroy_args {
  TN_XLA_HEAD;
  tn_xla_error_t *error;
} tn_xla_error_destroy_args_t;
TN_XLA_LAYOUT(tn_xla_error_destroy_args_t, 24, error, 16);

typedef struct tn_xla_handler_register_args {
  TN_XLA_HEAD;
  tn_xla_span_t name;
  tn_xla_span_t platform;
  tn_xla_bundle_t bundle;
  uint32_t traits;
} tn_xla_handler_register_args_t;
TN_XLA_LAYOUT(tn_xla_handler_register_args_t, 96, traits, 88);

/* The arguments of older headers, whose bundle has no `record`. `struct_size` is exactly 84. */
typedef struct tn_xla_handler_register_args_v1 {
  TN_XLA_HEAD;
  tn_xla_span_t name;
  tn_xla_span_t platform;
  tn_xla_bundle_v1_t bundle;
  uint32_t traits;
} tn_xla_handler_register_args_v1_t;
TN_XLA_LAYOUT(tn_xla_handler_register_args_v1_t, 88, traits, 80);
TN_XLA_FIELD(tn_xla_handler_register_args_v1_t, name, 16);
TN_XLA_FIELD(tn_xla_handler_register_args_v1_t, platform, 32);
TN_XLA_FIELD(tn_xla_handler_register_args_v1_t, bundle, 48);
TN_XLA_FIELD(tn_xla_handler_register_args_t, name, 16);
TN_XLA_FIELD(tn_xla_handler_register_args_t, platform, 32);
TN_XLA_FIELD(tn_xla_handler_register_args_t, bundle, 48);

typedef struct tn_xla_stream_get_args {
  TN_XLA_HEAD;
  tn_xla_context_t *ctx;
  void *stream; /* out */
} tn_xla_stream_get_args_t;
TN_XLA_LAYOUT(tn_xla_stream_get_args_t, 32, stream, 24);

/* 0.1: a type is only a name, and each State_Set passes the deleter. */
typedef struct tn_xla_type_register_args_v1 {
  TN_XLA_HEAD;
  tn_xla_span_t name;
  tn_xla_type_id_t *type_id; /* in-out */
} tn_xla_type_register_args_v1_t;
TN_XLA_LAYOUT(tn_xla_type_register_args_v1_t, 40, type_id, 32);

/* 0.2 and later. `struct_size` is 40 too, because it does not count the last field. */
typedef struct tn_xla_type_register_args_v2 {
  TN_XLA_HEAD;
  tn_xla_span_t name;
  tn_xla_type_id_t *type_id; /* in-out */
  const tn_xla_type_info_t *type_info;
} tn_xla_type_register_args_v2_t;
TN_XLA_LAYOUT(tn_xla_type_register_args_v2_t, 48, type_info, 40);
TN_XLA_FIELD(tn_xla_type_register_args_v2_t, name, 16);
TN_XLA_FIELD(tn_xla_type_register_args_v2_t, type_id, 32);

typedef struct tn_xla_context_get_args {
  TN_XLA_HEAD;
  tn_xla_context_t *ctx;
  tn_xla_type_id_t *type_id;
  void *data; /* out */
} tn_xla_context_get_args_t;
TN_XLA_LAYOUT(tn_xla_context_get_args_t, 40, data, 32);
TN_XLA_FIELD(tn_xla_context_get_args_t, type_id, 24);

typedef struct tn_xla_state_set_args_v1 {
  TN_XLA_HEAD;
  tn_xla_context_t *ctx;
  tn_xla_type_id_t *type_id;
  void *state; /* owned by the runtime from here on */
  void (*deleter)(void *state);
} tn_xla_state_set_args_v1_t;
TN_XLA_LAYOUT(tn_xla_state_set_args_v1_t, 48, deleter, 40);
TN_XLA_FIELD(tn_xla_state_set_args_v1_t, type_id, 24);
TN_XLA_FIELD(tn_xla_state_set_args_v1_t, state, 32);

typedef struct tn_xla_state_set_args_v2 {
  TN_XLA_HEAD;
  tn_xla_context_t *ctx;
  tn_xla_type_id_t *type_id;
  void *state;
} tn_xla_state_set_args_v2_t;
TN_XLA_LAYOUT(tn_xla_state_set_args_v2_t, 40, state, 32);
TN_XLA_FIELD(tn_xla_state_set_args_v2_t, type_id, 24);

typedef struct tn_xla_state_set_args_v3 {
  TN_XLA_HEAD;
  tn_xla_context_t *ctx;
  int32_t stage; /* which of the three states: instantiate, prepare or initialize */
  tn_xla_type_id_t *type_id;
  void *state;
} tn_xla_state_set_args_v3_t;
TN_XLA_LAYOUT(tn_xla_state_set_args_v3_t, 48, state, 40);
TN_XLA_FIELD(tn_xla_state_set_args_v3_t, stage, 24);
TN_XLA_FIELD(tn_xla_state_set_args_v3_t, type_id, 32);

/* 0.1 and 0.2. */
typedef struct tn_xla_state_get_args_v1 {
  TN_XLA_HEAD;
  tn_xla_context_t *ctx;
  tn_xla_type_id_t *type_id;
  void *state; /* out */
} tn_xla_state_get_args_v1_t;
TN_XLA_LAYOUT(tn_xla_state_get_args_v1_t, 40, state, 32);
TN_XLA_FIELD(tn_xla_state_get_args_v1_t, type_id, 24);

typedef struct tn_xla_state_get_args_v3 {
  TN_XLA_HEAD;
  tn_xla_context_t *ctx;
  int32_t stage;
  tn_xla_type_id_t *type_id;
  void *state; /* out */
} tn_xla_state_get_args_v3_t;
TN_XLA_LAYOUT(tn_xla_state_get_args_v3_t, 48, state, 40);
TN_XLA_FIELD(tn_xla_state_get_args_v3_t, stage, 24);
TN_XLA_FIELD(tn_xla_state_get_args_v3_t, type_id, 32);

typedef struct tn_xla_memory_allocate_args {
  TN_XLA_HEAD;
  tn_xla_context_t *ctx;
  size_t size;
  size_t alignment;
  void *data; /* out */
} tn_xla_memory_allocate_args_t;
TN_XLA_LAYOUT(tn_xla_memory_allocate_args_t, 48, data, 40);
TN_XLA_FIELD(tn_xla_memory_allocate_args_t, size, 24);
TN_XLA_FIELD(tn_xla_memory_allocate_args_t, alignment, 32);

typedef struct tn_xla_memory_free_args {
  TN_XLA_HEAD;
  tn_xla_context_t *ctx;
  size_t size;
  void *data;
} tn_xla_memory_free_args_t;
TN_XLA_LAYOUT(tn_xla_memory_free_args_t, 40, data, 32);
TN_XLA_FIELD(tn_xla_memory_free_args_t, size, 24);

typedef struct tn_xla_pool_schedule_args {
  TN_XLA_HEAD;
  tn_xla_context_t *ctx;
  void (*task)(void *data);
  void *data;
} tn_xla_pool_schedule_args_t;
TN_XLA_LAYOUT(tn_xla_pool_schedule_args_t, 40, data, 32);
TN_XLA_FIELD(tn_xla_pool_schedule_args_t, task, 24);

typedef struct tn_xla_pool_num_threads_args {
  TN_XLA_HEAD;
  tn_xla_context_t *ctx;
  int64_t *num_threads; /* out, through the pointer */
} tn_xla_pool_num_threads_args_t;
TN_XLA_LAYOUT(tn_xla_pool_num_threads_args_t, 32, num_threads, 24);

typedef struct tn_xla_future_create_args {
  TN_XLA_HEAD;
  tn_xla_future_t *future; /* out; not counted in struct_size */
} tn_xla_future_create_args_t;
TN_XLA_LAYOUT(tn_xla_future_create_args_t, 24, future, 16);

typedef struct tn_xla_future_available_args {
  TN_XLA_HEAD;
  tn_xla_future_t *future;
} tn_xla_future_available_args_t;
TN_XLA_LAYOUT(tn_xla_future_available_args_t, 24, future, 16);

typedef struct tn_xla_future_error_args {
  TN_XLA_HEAD;
  tn_xla_future_t *future;
  tn_xla_error_t *error; /* owned by the runtime from here on */
} tn_xla_future_error_args_t;
TN_XLA_LAYOUT(tn_xla_future_error_args_t, 32, error, 24);

/* 0.2 and later. */
typedef struct tn_xla_run_id_get_args {
  TN_XLA_HEAD;
  tn_xla_context_t *ctx;
  int64_t run_id; /* out */
} tn_xla_run_id_get_args_t;
TN_XLA_LAYOUT(tn_xla_run_id_get_args_t, 32, run_id, 24);

/* 0.2 and later. */
typedef struct tn_xla_device_ordinal_get_args {
  TN_XLA_HEAD;
  tn_xla_context_t *ctx;
  int32_t device_ordinal; /* out; -1 when unknown */
} tn_xla_device_ordinal_get_args_t;
TN_XLA_LAYOUT(tn_xla_device_ordinal_get_args_t, 32, device_ordinal, 24);

/* 0.4, and late headers of 0.3. That the context has no such extension is not an error. */
typedef struct tn_xla_find_extension_args {
  TN_XLA_HEAD;
  tn_xla_context_t *ctx;
  int64_t extension_type;
  const tn_xla_context_extension_t *extension; /* out; null if the context does not have the extension */
} tn_xla_find_extension_args_t;
TN_XLA_LAYOUT(tn_xla_find_extension_args_t, 40, extension, 32);
TN_XLA_FIELD(tn_xla_find_extension_args_t, extension_type, 24);

#undef TN_XLA_HEAD

/* --- The table ------------------------------------------------------------------------------------------------ */

/* The functions that the runtime offers to handlers. Arguments whose layout depends on the version are `void *`. Pass
 * the struct of the version that the handler declares in its metadata, which is also the version of its table. 0.1 ends
 * after `future_set_error`, 0.2 and early tables of 0.3 after `device_ordinal_get`. */
struct tn_xla_api {
  size_t struct_size;
  tn_xla_extension_t *extension_start;
  tn_xla_api_version_t api_version;
  const void *internal_api; /* for code inside XLA; null elsewhere */
  tn_xla_error_t *(*error_create)(tn_xla_error_create_args_t *);
  void (*error_get_message)(void *); /* tn_xla_error_get_message_args_t, tn_xla_error_get_details_args_t (0.4) */
  void (*error_destroy)(tn_xla_error_destroy_args_t *);
  tn_xla_error_t *(*handler_register)(void *); /* tn_xla_handler_register_args_t, _v1_t */
  tn_xla_error_t *(*stream_get)(tn_xla_stream_get_args_t *);
  tn_xla_error_t *(*type_register)(void *); /* tn_xla_type_register_args_v1_t, _v2_t */
  tn_xla_error_t *(*context_get)(tn_xla_context_get_args_t *);
  tn_xla_error_t *(*state_set)(void *); /* tn_xla_state_set_args_v1_t, _v2_t, _v3_t */
  tn_xla_error_t *(*state_get)(void *); /* tn_xla_state_get_args_v1_t (0.1 and 0.2), _v3_t */
  tn_xla_error_t *(*memory_allocate)(tn_xla_memory_allocate_args_t *);
  tn_xla_error_t *(*memory_free)(tn_xla_memory_free_args_t *);
  tn_xla_error_t *(*pool_schedule)(tn_xla_pool_schedule_args_t *);
  tn_xla_error_t *(*pool_num_threads)(tn_xla_pool_num_threads_args_t *);
  tn_xla_error_t *(*future_create)(tn_xla_future_create_args_t *);
  tn_xla_error_t *(*future_set_available)(tn_xla_future_available_args_t *);
  tn_xla_error_t *(*future_set_error)(tn_xla_future_error_args_t *);
  tn_xla_error_t *(*run_id_get)(tn_xla_run_id_get_args_t *);
  tn_xla_error_t *(*device_ordinal_get)(tn_xla_device_ordinal_get_args_t *);
  tn_xla_error_t *(*find_extension)(tn_xla_find_extension_args_t *); /* tables of 0.3 and 0.4 */
};
TN_XLA_LAYOUT(tn_xla_api_t, 200, find_extension, 192);
TN_XLA_FIELD(tn_xla_api_t, api_version, 16);
TN_XLA_FIELD(tn_xla_api_t, internal_api, 40);
TN_XLA_FIELD(tn_xla_api_t, error_create, 48);
TN_XLA_FIELD(tn_xla_api_t, error_get_message, 56);
TN_XLA_FIELD(tn_xla_api_t, error_destroy, 64);
TN_XLA_FIELD(tn_xla_api_t, handler_register, 72);
TN_XLA_FIELD(tn_xla_api_t, stream_get, 80);
TN_XLA_FIELD(tn_xla_api_t, type_register, 88);
TN_XLA_FIELD(tn_xla_api_t, context_get, 96);
TN_XLA_FIELD(tn_xla_api_t, state_set, 104);
TN_XLA_FIELD(tn_xla_api_t, state_get, 112);
TN_XLA_FIELD(tn_xla_api_t, memory_allocate, 120);
TN_XLA_FIELD(tn_xla_api_t, memory_free, 128);
TN_XLA_FIELD(tn_xla_api_t, pool_schedule, 136);
TN_XLA_FIELD(tn_xla_api_t, pool_num_threads, 144);
TN_XLA_FIELD(tn_xla_api_t, future_create, 152);
TN_XLA_FIELD(tn_xla_api_t, future_set_available, 160);
TN_XLA_FIELD(tn_xla_api_t, future_set_error, 168);
TN_XLA_FIELD(tn_xla_api_t, run_id_get, 176);
TN_XLA_FIELD(tn_xla_api_t, device_ordinal_get, 184);

/* The table of 0.4, for code that registers types or handlers outside a call. The process that runs the handlers
 * (Tenon's core, loaded before them) defines this function, and kernel libraries leave it undefined. */
const tn_xla_api_t *XLA_FFI_GetApi(void);

#ifdef __cplusplus
}
#endif
#endif
