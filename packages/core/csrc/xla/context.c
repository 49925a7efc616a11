/* The functions with which handlers ask about their invocation, and the data that callers lend to them. */
#include <stdatomic.h>
#include <stdlib.h>

#include "call/jobs.h"
#include "error.h"
#include "internal.h"

static int32_t stage_of(const tn_xla_context_t *context) {
  const uint8_t *call = (const uint8_t *)context - offsetof(tn__xla_call_t, context);
  return ((const tn__xla_call_t *)(const void *)call)->frame.stage;
}

static tn_xla_error_t *missing_context(void) { return tn__xla_error(TN_XLA_INVALID_ARGUMENT, "ctx must not be null"); }

tn_xla_error_t *tn__xla_context_get(tn_xla_context_get_args_t *args) {
  CHECK_SIZE("ExecutionContext_Get", sizeof *args);
  if (args->ctx == NULL || args->type_id == NULL) return missing_context();
  const int64_t id = args->type_id->type_id;
  /* The instantiate stage belongs to no run, so it does not see lent data. */
  const int is_run = stage_of(args->ctx) != TN_XLA_INSTANTIATE;
  for (const tn__xla_user_data_t *entry = args->ctx->owner->user_data; is_run && entry != NULL; entry = entry->next) {
    if (entry->type_id != id) continue;
    args->data = entry->data;
    return NULL;
  }
  return tn__xla_error(TN_XLA_NOT_FOUND, "User data with type id %lld not found in execution context", (long long)id);
}

tn_xla_error_t *tn__xla_stream_get(tn_xla_stream_get_args_t *args) {
  CHECK_SIZE("Stream_Get", sizeof *args);
  const tn_xla_device_t *device = args->ctx == NULL ? NULL : args->ctx->owner->device;
  if (device == NULL) return tn__xla_error(TN_XLA_UNIMPLEMENTED, "XLA FFI GPU context is not available");
  /* The instantiate and prepare stages come before the stream is known. */
  if (!device->has_stream || stage_of(args->ctx) < TN_XLA_INITIALIZE)
    return tn__xla_error(TN_XLA_UNIMPLEMENTED, "XLA FFI GPU stream is not available");
  args->stream = device->stream;
  return NULL;
}

/* Only the host has a thread pool. */
static tn_xla_error_t *check_pool(const tn_xla_context_t *context) {
  if (context == NULL || context->owner->device == NULL) return NULL;
  return tn__xla_error(TN_XLA_UNIMPLEMENTED, "XLA FFI CPU context is not available");
}

/* A task of a handler. The job is the first member. */
typedef struct {
  tn_job_t job;
  void (*run)(void *data);
  void *data;
} task_t;

static void run_task(tn_job_t *job) {
  const task_t task = *(task_t *)(void *)job;
  free(job);
  task.run(task.data);
}

tn_xla_error_t *tn__xla_pool_schedule(tn_xla_pool_schedule_args_t *args) {
  CHECK_SIZE("ThreadPool_Schedule", sizeof *args);
  tn_xla_error_t *wrong = check_pool(args->ctx);
  if (wrong != NULL) return wrong;
  if (args->task == NULL) return tn__xla_error(TN_XLA_INVALID_ARGUMENT, "task must not be null");
  task_t *task = malloc(sizeof *task);
  if (task == NULL) return tn__xla_error(TN_XLA_RESOURCE_EXHAUSTED, "no memory for a task");
  *task = (task_t){.job.run = run_task, .run = args->task, .data = args->data};
  const int32_t status = tn_jobs_add(TN_JOBS_TASKS, &task->job);
  if (status == TN_OK) return NULL;
  free(task);
  return tn__xla_error(status == TN_INVALID_ARGUMENT ? TN_XLA_INVALID_ARGUMENT : TN_XLA_RESOURCE_EXHAUSTED, "%s",
                       tn_last_error());
}

tn_xla_error_t *tn__xla_pool_num_threads(tn_xla_pool_num_threads_args_t *args) {
  CHECK_SIZE("ThreadPool_NumThreads", sizeof *args);
  tn_xla_error_t *wrong = check_pool(args->ctx);
  if (wrong != NULL) return wrong;
  if (args->num_threads == NULL) return tn__xla_error(TN_XLA_INVALID_ARGUMENT, "num_threads must not be null");
  size_t limit;
  if (tn__jobs_limit(&limit) != TN_OK) return tn__xla_error(TN_XLA_INVALID_ARGUMENT, "%s", tn_last_error());
  *args->num_threads = (int64_t)limit;
  return NULL;
}

tn_xla_error_t *tn__xla_run_id_get(tn_xla_run_id_get_args_t *args) {
  static atomic_int_least64_t last;
  CHECK_SIZE("RunId_Get", sizeof *args);
  if (args->ctx == NULL) return missing_context();
  /* A run gets its id only now, because few handlers ask. */
  if (args->ctx->run_id == 0) args->ctx->run_id = atomic_fetch_add(&last, 1) + 1;
  args->run_id = args->ctx->run_id;
  return NULL;
}

tn_xla_error_t *tn__xla_device_ordinal_get(tn_xla_device_ordinal_get_args_t *args) {
  CHECK_SIZE("DeviceOrdinal_Get", TN_XLA_SIZE_DEVICE_ORDINAL_GET);
  if (args->ctx == NULL) return missing_context();
  args->device_ordinal = stage_of(args->ctx) == TN_XLA_INSTANTIATE ? -1 : args->ctx->device_ordinal;
  return NULL;
}

tn_xla_error_t *tn__xla_find_extension(tn_xla_find_extension_args_t *args) {
  CHECK_SIZE("InvokeContext_FindExtension", sizeof *args);
  args->extension = NULL; /* This runtime offers no extensions. A missing extension is not an error. */
  return NULL;
}

int32_t tn_xla_lend(void *memory, int64_t type_id, void *data) {
  TN_REQUIRE(memory != NULL && data != NULL && type_id != 0, "call, type id and data must not be null");
  tn_xla_context_t *context = &((tn__xla_call_t *)memory)->context;
  for (const tn__xla_user_data_t *entry = context->user_data; entry != NULL; entry = entry->next)
    TN_REQUIRE(entry->type_id != type_id, "data of type id %lld is already lent to this call", (long long)type_id);
  tn__xla_user_data_t *entry = malloc(sizeof *entry);
  if (entry == NULL) return tn__fail(TN_OUT_OF_MEMORY, "no memory to lend data to a call");
  *entry = (tn__xla_user_data_t){context->user_data, type_id, data};
  context->user_data = entry;
  return TN_OK;
}

int32_t tn_xla_on_device(void *memory, const tn_xla_device_t *device) {
  TN_REQUIRE(memory != NULL && device != NULL && device->struct_size >= offsetof(tn_xla_device_t, enter),
             "call and device must not be null, and the device must have its struct_size");
  ((tn__xla_call_t *)memory)->context.device = device;
  return TN_OK;
}
