/* Functions and types that the files of XLA custom calls share. */
#pragma once

#include <string.h>

#include "base/lock.h"
#include "base/status.h"
#include "tenon_call.h"
#include "tenon/xla_custom_call.h"
#include "tenon/xla_ffi.h"
#include "tenon_xla.h"

/* --- set.c -------------------------------------------------------------------------------------------------------- */

/* A member of a set, at the start of its object. */
typedef struct tn__xla_member {
  struct tn__xla_member *next;
} tn__xla_member_t;

/* A set of live objects. Pointers that handlers return are followed only if they are members. Callers lock. */
typedef struct tn__xla_set {
  size_t count;
  tn__xla_member_t *buckets[64];
} tn__xla_set_t;

void tn__xla_set_add(tn__xla_set_t *set, tn__xla_member_t *member);
/* Removes a member. Returns 0 if the pointer is not one. */
int tn__xla_set_remove(tn__xla_set_t *set, const void *pointer);
int tn__xla_set_has(const tn__xla_set_t *set, const void *pointer);

/* Takes the lock of a set and returns its count. */
size_t tn__xla_set_count(const tn__xla_set_t *set, tn__lock_t *lock);

/* --- error.c ------------------------------------------------------------------------------------------------------ */

struct tn_xla_error {
  tn__xla_member_t member;
  int32_t code;
  size_t length;
  const char *message; /* NUL-terminated; follows the error in the same block */
};

/* Creates an error (printf-like, at most 1023 bytes), which the caller owns. Never null. */
TN_PRINTF(2, 3) tn_xla_error_t *tn__xla_error(int32_t code, const char *format, ...);

/* Copies at most `capacity` bytes of a message and writes its whole length. Returns whether all of it was copied. */
static inline int tn__xla_copy_message(const char *text, size_t size, char *out, size_t capacity, size_t *length) {
  if (size > 0 && capacity > 0) memcpy(out, text, size < capacity ? size : capacity);
  *length = size;
  return size <= capacity;
}

/* Destroys a live error of this runtime. Other pointers are ignored. */
void tn__xla_error_destroy(tn_xla_error_t *error);

int tn__xla_error_is_live(const tn_xla_error_t *error);

/* Makes the code of an error the caller's and its message the last error, destroys it, and returns TN_KERNEL_FAILED. */
int32_t tn__xla_error_report(tn_xla_error_t *error, int32_t *code);

tn_xla_error_t *tn__xla_error_create(tn_xla_error_create_args_t *args);
/* Error_GetDetails of 0.4, and Error_GetMessage of older versions, whose arguments end before the code. */
void tn__xla_error_get_details(void *args);
void tn__xla_error_destroy_args(tn_xla_error_destroy_args_t *args);

/* --- future.c ----------------------------------------------------------------------------------------------------- */

tn_xla_error_t *tn__xla_future_create(tn_xla_future_create_args_t *args);
tn_xla_error_t *tn__xla_future_set_available(tn_xla_future_available_args_t *args);
tn_xla_error_t *tn__xla_future_set_error(tn_xla_future_error_args_t *args);

/* Waits until a future completes, frees it, and returns its error, which the caller owns, or null. */
tn_xla_error_t *tn__xla_future_wait(tn_xla_future_t *future);

/* Receives the error of a complete future, which it owns, or null. */
typedef void tn__xla_then_t(void *data, tn_xla_error_t *error);

/* Calls `then` when a future completes, on the thread that completes it or now, with its error.
 * A non-null result means that the future does not belong to the handler, and `then` is not called. */
tn_xla_error_t *tn__xla_future_then(tn_xla_future_t *future, tn__xla_then_t *then, void *data);

/* Abandons a future, which is freed when it completes or now. */
void tn__xla_future_abandon(tn_xla_future_t *future);

/* --- handler.c ---------------------------------------------------------------------------------------------------- */

/* Settles what a handler has returned: waits for a future, and turns what is not an error of this runtime into one.
 * Returns null for success, otherwise an error that the caller owns. */
tn_xla_error_t *tn__xla_settle(tn_xla_error_t *returned, tn_xla_future_t *future);

/* tn_xla_metadata() with the table `api`. */
int32_t tn__xla_metadata(tn_xla_handler_t *handler, const tn_xla_api_t *api, tn_xla_metadata_t *out, int32_t *code);

/* --- type.c: types and states ------------------------------------------------------------------------------------- */

/* An object that the runtime owns for a handler. Empty while `state` is null. */
typedef struct tn__xla_state {
  int64_t type_id;
  void *state;
  void (*deleter)(void *state);
} tn__xla_state_t;

/* Destroys the object, if any, and empties the slot. Runs code of the library, so it is called under the guard. */
void tn__xla_state_clear(tn__xla_state_t *slot);

/* Functions of the table whose arguments depend on the minor version. */
typedef tn_xla_error_t *tn__xla_versioned_t(void *args);
tn__xla_versioned_t tn__xla_type_register_v1, tn__xla_type_register_v2, tn__xla_state_set_v1, tn__xla_state_set_v2,
    tn__xla_state_set_v3, tn__xla_state_get_v1, tn__xla_state_get_v3;

/* --- context.c ---------------------------------------------------------------------------------------------------- */

/* An object that a caller lends to handlers, which look it up by its type. */
typedef struct tn__xla_user_data {
  struct tn__xla_user_data *next;
  int64_t type_id;
  void *data;
} tn__xla_user_data_t;

/* Memory that a handler has allocated and not freed. */
typedef struct tn__xla_block {
  struct tn__xla_block *next;
  void *memory;
  size_t size;
} tn__xla_block_t;

/* The `ctx` of handlers. Each call contains one. */
struct tn_xla_context {
  struct tn_xla_context *owner; /* the call whose instantiate state, lent data and device are used; often this one */
  tn__xla_state_t states[3];    /* by stage; 0.1 and 0.2 have only the first */
  tn__xla_user_data_t *user_data;
  const tn_xla_memory_t *memory; /* the source of memory, or null */
  const tn_xla_device_t *device; /* null for the host */
  tn__xla_block_t *blocks;       /* of this run */
  int64_t run_id;                /* 0 until a handler asks for it */
  int32_t device_ordinal;
  int32_t captures; /* the work of the execute handler is captured, so it cannot allocate */
};

/* Makes a device current on this thread. Returns 0 if that failed. */
static inline int tn__xla_enter(const tn_xla_device_t *device) {
  if (device == NULL || device->struct_size < sizeof *device || device->enter == NULL) return 1;
  return device->enter(device->data) == 0;
}

/* --- memory.c ----------------------------------------------------------------------------------------------------- */

/* Frees the memory that a run has not freed. */
void tn__xla_memory_clear(tn_xla_context_t *context);

tn_xla_error_t *tn__xla_context_get(tn_xla_context_get_args_t *args);
tn_xla_error_t *tn__xla_stream_get(tn_xla_stream_get_args_t *args);
tn_xla_error_t *tn__xla_memory_allocate(tn_xla_memory_allocate_args_t *args);
tn_xla_error_t *tn__xla_memory_free(tn_xla_memory_free_args_t *args);
tn_xla_error_t *tn__xla_pool_schedule(tn_xla_pool_schedule_args_t *args);
tn_xla_error_t *tn__xla_pool_num_threads(tn_xla_pool_num_threads_args_t *args);
tn_xla_error_t *tn__xla_run_id_get(tn_xla_run_id_get_args_t *args);
tn_xla_error_t *tn__xla_device_ordinal_get(tn_xla_device_ordinal_get_args_t *args);
tn_xla_error_t *tn__xla_find_extension(tn_xla_find_extension_args_t *args);

/* --- registry.c --------------------------------------------------------------------------------------------------- */

/* Registers a handler, which is asked for its metadata with the table `api`. `args` is a
 * tn_xla_handler_register_args_t or _v1_t. */
tn_xla_error_t *tn__xla_handler_register(const void *args, const tn_xla_api_t *api);

/* --- api.c -------------------------------------------------------------------------------------------------------- */

/* The table for handlers of version 0.`minor`, or the newest one for later versions. */
const tn_xla_api_t *tn__xla_api(int32_t minor);

/* --- frame.c, call.c ---------------------------------------------------------------------------------------------- */

/* A prepared call, which is the start of the memory of tn_xla_frame_build(). Handlers can write to all that `frame` refers to, which
 * follows it. The image, at the end of the memory, is a copy of both that no handler sees. */
typedef struct tn__xla_call {
  tn_xla_call_head_t head;
  const void *image;
  size_t image_size;
  tn_xla_bundle_v1_t handlers; /* a record handler is never run */
  tn_xla_error_t *error; /* of the last run, until it is read or the next run begins */
  tn_xla_context_t context;
  tn_xla_call_frame_t frame;
} tn__xla_call_t;

/* frame_write.c: writes the frame of any runtime as tn_xla_function_read() describes it. */
int32_t tn__xla_frame_write(const tn_xla_call_frame_t *frame, void *out, size_t capacity, size_t *length);

/* Run a call. The exported functions of these names do the same, but calling them costs more. */
int32_t tn__xla_execute(tn__xla_call_t *call);
int32_t tn__xla_execute_untyped(tn_xla_untyped_call_t *call);
int32_t tn__xla_execute_batch(tn_xla_batch_t *batch);

/* Do the same without the guard, which costs two indirect calls. After an exception, tn_xla_end_exception() ends the run. */
int32_t tn__xla_enter_call(tn__xla_call_t *call);
int32_t tn__xla_enter_untyped(tn_xla_untyped_call_t *call);
int32_t tn__xla_enter_batch(tn_xla_batch_t *batch);

/* Do what is left of a run that an exception ended, which is the last error. Return the status of the run. */
int32_t tn__xla_end_exception(tn__xla_call_t *call, int32_t status);
int32_t tn__xla_end_untyped_exception(tn_xla_untyped_call_t *call, int32_t status);

/* Does the same as tn_xla_execute(), and calls `begin` before the execute handler and `end` after it, even if it
 * failed. The handler cannot allocate. */
int32_t tn__xla_execute_between(tn__xla_call_t *call, tn_xla_error_t *(*begin)(void *), tn_xla_error_t *(*end)(void *),
                                void *data);

/* Starts a run of a call. Returns 1 if the run is over, with its status. Otherwise `then` is called when a future
 * completes, and passes the error to tn__xla_call_finish(), which returns the status. */
int tn__xla_call_start(tn__xla_call_t *call, tn__xla_then_t *then, void *data, int32_t *status);
int32_t tn__xla_call_finish(tn__xla_call_t *call, tn_xla_error_t *error);
