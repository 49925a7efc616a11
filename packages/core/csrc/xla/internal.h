/* What the files of the XLA part share. */
#ifndef TENON_XLA_INTERNAL_H
#define TENON_XLA_INTERNAL_H

#include "../base/internal.h"
#include "../base/lock.h"
#include "../call/callback.h"
#include "tenon/xla_custom_call.h"
#include "tenon/xla_ffi.h"
#include "tenon_xla.h"

/* The newest minor version whose table this core has. */
#define TN__XLA_NEWEST_MINOR 3

/* --- set.c: which pointers are ours ------------------------------------------------------------------------- */

/* A member of a set, at the start of the object it stands for. */
typedef struct tn__xla_member {
  struct tn__xla_member *next;
  struct tn__xla_member **place;
} tn__xla_member_t;

/* A set of live objects. Handlers hand back pointers that may be anything: only members are ever followed. Callers lock. */
typedef struct tn__xla_set {
  size_t count;
  tn__xla_member_t *buckets[64];
} tn__xla_set_t;

void tn__xla_set_add(tn__xla_set_t *set, tn__xla_member_t *member);
void tn__xla_set_remove(tn__xla_set_t *set, tn__xla_member_t *member);
int tn__xla_set_has(const tn__xla_set_t *set, const void *pointer);

/* --- error.c ------------------------------------------------------------------------------------------------ */

struct tn_xla_error {
  tn__xla_member_t member;
  int32_t code;
  size_t length;
  const char *message; /* NUL-terminated; lies behind the error in the same block */
};

/* Makes an error (printf-like, at most 1023 bytes); the caller owns it. Never null. */
TN_PRINTF(2, 3) tn_xla_error_t *tn__xla_error(int32_t code, const char *format, ...);

/* Destroys an error that is ours and alive; anything else is left alone. */
void tn__xla_error_destroy(tn_xla_error_t *error);

/* Whether a pointer is an error of ours that is alive. */
int tn__xla_error_is_live(const tn_xla_error_t *error);

/* Makes the code of an error the caller's and its message the last error, destroys it, and returns TN_KERNEL_FAILED. */
int32_t tn__xla_error_report(tn_xla_error_t *error, int32_t *code);

/* Returns null, or an error that says which arguments are too short. */
tn_xla_error_t *tn__xla_check_size(const char *what, size_t expected, size_t actual);

tn_xla_error_t *tn__xla_error_create(tn_xla_error_create_args_t *args);
void tn__xla_error_get_message(tn_xla_error_get_message_args_t *args);
void tn__xla_error_destroy_args(tn_xla_error_destroy_args_t *args);

/* --- future.c ----------------------------------------------------------------------------------------------- */

tn_xla_error_t *tn__xla_future_create(tn_xla_future_create_args_t *args);
tn_xla_error_t *tn__xla_future_set_available(tn_xla_future_available_args_t *args);
tn_xla_error_t *tn__xla_future_set_error(tn_xla_future_error_args_t *args);

/* Waits until a future completes, frees it, and returns its error (the caller's) or null. */
tn_xla_error_t *tn__xla_future_wait(tn_xla_future_t *future);

/* Has `then` called when a future completes, with its error (the callee's) or null: by who completes it, or now. Non-null:
 * the future is not the handler's own, and nothing is called. */
tn_xla_error_t *tn__xla_future_then(tn_xla_future_t *future, void (*then)(void *data, tn_xla_error_t *error), void *data);

/* Gives a future up: it is freed now if it is complete, otherwise when it completes. */
void tn__xla_future_abandon(tn_xla_future_t *future);

/* --- handler.c ---------------------------------------------------------------------------------------------------- */

/* Settles what a handler has returned: waits for a future, and turns what is not an error of this runtime into one. Returns null
 * for success, otherwise an error that the caller owns. */
tn_xla_error_t *tn__xla_settle(tn_xla_error_t *returned, tn_xla_future_t *future);

/* tn_xla_metadata() with the table `api`. */
int32_t tn__xla_metadata(tn_xla_handler_t *handler, const tn_xla_api_t *api, tn_xla_metadata_t *metadata, int32_t *code);

/* --- type.c: types and states --------------------------------------------------------------------------------- */

/* One state: an object that the runtime owns on behalf of a handler. Empty while `state` is null. */
typedef struct tn__xla_state {
  int64_t type_id;
  void *state;
  void (*deleter)(void *state);
} tn__xla_state_t;

/* Destroys the object, if there is one, and empties the slot. Runs foreign code: call it under the guard. */
void tn__xla_state_clear(tn__xla_state_t *slot);

tn_xla_error_t *tn__xla_type_register_v1(void *args);
tn_xla_error_t *tn__xla_type_register_v2(void *args);
tn_xla_error_t *tn__xla_state_set_v1(void *args);
tn_xla_error_t *tn__xla_state_set_v2(void *args);
tn_xla_error_t *tn__xla_state_set_v3(void *args);
tn_xla_error_t *tn__xla_state_get_v1(void *args);
tn_xla_error_t *tn__xla_state_get_v3(void *args);

/* --- context.c ------------------------------------------------------------------------------------------------ */

/* One object that a caller lends to handlers, found by its type. */
typedef struct tn__xla_user_data {
  struct tn__xla_user_data *next;
  int64_t type_id;
  void *data;
} tn__xla_user_data_t;

/* Memory that a handler has asked for and not given back. */
typedef struct tn__xla_block {
  struct tn__xla_block *next;
  void *memory;
  size_t size;
} tn__xla_block_t;

/* What handlers reach through `ctx`. Each call has one in place. */
struct tn_xla_context {
  struct tn_xla_context *owner; /* that of the call whose instantiate state, lent data and device this one uses; often itself */
  tn__xla_state_t states[3];    /* by stage; 0.1 and 0.2 have the first alone */
  tn__xla_user_data_t *user_data;
  const tn_xla_memory_t *memory; /* where memory comes from; null: nowhere */
  const tn_xla_device_t *device; /* null: the Host */
  tn__xla_block_t *blocks;       /* of this run */
  int64_t run_id;                /* 0: not asked for yet in this run */
  int32_t device_ordinal;
  int32_t captures; /* the execute handler's work is captured: no memory is given out */
};

/* Makes a device that of this thread. 0: it can't be. */
static inline int tn__xla_enter(const tn_xla_device_t *device) {
  return device == NULL || device->struct_size < sizeof *device || device->enter == NULL || device->enter(device->data) == 0;
}

/* --- memory.c: what DeviceMemory_Allocate gives ---------------------------------------------------------------- */

/* Frees what a run has left. */
void tn__xla_memory_clear(tn_xla_context_t *context);

tn_xla_error_t *tn__xla_context_get(tn_xla_context_get_args_t *args);
tn_xla_error_t *tn__xla_stream_get(tn_xla_stream_get_args_t *args);
tn_xla_error_t *tn__xla_memory_allocate(tn_xla_memory_allocate_args_t *args);
tn_xla_error_t *tn__xla_memory_free(tn_xla_memory_free_args_t *args);
tn_xla_error_t *tn__xla_pool_schedule(tn_xla_pool_schedule_args_t *args);
tn_xla_error_t *tn__xla_pool_num_threads(tn_xla_pool_num_threads_args_t *args);
tn_xla_error_t *tn__xla_run_id_get(tn_xla_run_id_get_args_t *args);
tn_xla_error_t *tn__xla_device_ordinal_get(tn_xla_device_ordinal_get_args_t *args);

/* --- pool.c --------------------------------------------------------------------------------------------------- */

typedef struct tn__xla_task tn__xla_task_t;

typedef struct tn__xla_pool {
  tn__lock_t lock;
  tn__condition_t arrived;
  tn__xla_task_t *first, *last;
  size_t waiting; /* tasks that no thread has taken yet */
  size_t idle;    /* threads that wait for one */
  size_t threads;
  tn__thread_t thread;
} tn__xla_pool_t;

/* The pool for tasks of handlers, and that for whole calls. */
extern tn__xla_pool_t tn__xla_tasks, tn__xla_calls;

/* How many threads a pool can have. */
size_t tn__xla_pool_size(void);

/* Has a thread of the pool run a task, some time, never this thread. 0 if there is no memory or no thread for it. */
int tn__xla_pool_add(tn__xla_pool_t *pool, void (*run)(void *data), void *data);

/* Takes back the task with this data. 0 if it has started. */
int tn__xla_pool_remove(tn__xla_pool_t *pool, const void *data);

/* --- registry.c ----------------------------------------------------------------------------------------------- */

/* Registers a handler, which is asked for its metadata with the table `api`. */
tn_xla_error_t *tn__xla_handler_register(tn_xla_handler_register_args_t *args, const tn_xla_api_t *api);

/* --- api.c ---------------------------------------------------------------------------------------------------- */

/* The table for a handler of version 0.`minor`; the newest one for later minors. */
const tn_xla_api_t *tn__xla_api(int32_t minor);

/* --- frame.c, call.c --------------------------------------------------------------------------------------- */

/* A prepared call: the start of the memory that tn_xla_frame_build() fills. */
typedef struct tn__xla_call {
  uint64_t byte_size;
  uint64_t buffers_offset; /* from the start of the call to its first tn_xla_buffer_t; operands, then results */
  tn_xla_bundle_t handlers;
  tn_xla_error_t *error; /* of the last run that failed, until it is read or the next run begins */
  tn_xla_context_t context;
  tn_xla_call_frame_t frame;
} tn__xla_call_t;

/* frame_write.c: tn_xla_function_read() for a frame of any runtime. */
int32_t tn__xla_frame_write(const tn_xla_call_frame_t *frame, void *out, size_t capacity, size_t *length);

/* tn_xla_execute() with `begin` right before the execute handler and `end` right after it, whatever came of it; no memory is
 * given out in between. */
int32_t tn__xla_execute_between(tn__xla_call_t *call, tn_xla_error_t *(*begin)(void *), tn_xla_error_t *(*end)(void *),
                                void *data);

/* Starts a run of a call. 1: it is over, with this status. 0: a future is left, `then` is called when it completes, and is to
 * call tn__xla_call_finish() with the error, which returns the status. */
int tn__xla_call_start(tn__xla_call_t *call, void (*then)(void *data, tn_xla_error_t *error), void *data, int32_t *status);
int32_t tn__xla_call_finish(tn__xla_call_t *call, tn_xla_error_t *error);

#endif
