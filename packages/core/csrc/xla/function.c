/* TypeScript functions as typed handlers. Each has its own C function, which any runtime can call by its address. */
#include <stdatomic.h>

#include "tenon/xla_handler.h"
#include "internal.h"

/* A call in progress, which is passed to tn_xla_function_fail(). */
typedef struct {
  tn_xla_call_frame_t *frame;
  tn_xla_error_t *error; /* what the handler returns; set by tn_xla_function_fail() */
} invocation_t;

/* A handler. Only the thread of its JavaScript opens, calls and closes it. */
typedef struct {
  atomic_uint_fast64_t thread; /* 0 while the slot is free */
  tn_callback_t *callback;
  const tn_xla_function_t *function;
} slot_t;

static tn__lock_t lock = TN__LOCK;
static slot_t slots[TN_XLA_FUNCTIONS];

/* Creates an error of the calling runtime, which may be another one. */
static tn_xla_error_t *fail(const tn_xla_call_frame_t *frame, int32_t code, const char *message) {
  tn_xla_error_create_args_t args = {TN_XLA_SIZE_ERROR_CREATE, NULL, message, code};
  return frame->api->error_create(&args);
}

TN_PRINTF(2, 3)
static tn_xla_error_t *refuse(const tn_xla_call_frame_t *frame, const char *format, ...) {
  char message[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  return fail(frame, TN_XLA_INVALID_ARGUMENT, message);
}

static tn_xla_error_t *check_buffer(const tn_xla_call_frame_t *frame, const char *what, size_t index, int32_t kind,
                                    const tn_xla_buffer_t *buffer, const tn_xla_function_buffer_t *expected) {
  if (kind != TN_XLA_BUFFER) return refuse(frame, "Wrong %s %zu: expected buffer", what, index);
  if (buffer->dtype != expected->dtype)
    return refuse(frame, "Wrong buffer dtype of %s %zu: expected %s but got %s", what, index,
                  tn_xla_dtype_name(expected->dtype), tn_xla_dtype_name(buffer->dtype));
  if (buffer->rank != expected->rank)
    return refuse(frame, "Wrong buffer rank of %s %zu: expected %lld but got %lld", what, index,
                  (long long)expected->rank, (long long)buffer->rank);
  for (int64_t axis = 0; axis < buffer->rank; axis++)
    if (buffer->dims[axis] != expected->dims[axis])
      return refuse(frame, "Wrong size of axis %lld of %s %zu: expected %lld but got %lld",
                    (long long)axis, what, index, (long long)expected->dims[axis], (long long)buffer->dims[axis]);
  return NULL;
}

static tn_xla_error_t *take_buffers(const tn_xla_call_frame_t *frame, const char *what, int64_t count,
                                    const int32_t *kinds, void *const *buffers, size_t wanted,
                                    const tn_xla_function_buffer_t *expected, void **data) {
  if (count < 0 || (size_t)count != wanted)
    return refuse(frame, "[execute] Wrong number of %ss: expected %zu but got %lld", what, wanted, (long long)count);
  for (size_t i = 0; i < wanted; i++) {
    tn_xla_error_t *wrong = check_buffer(frame, what, i, kinds[i], buffers[i], &expected[i]);
    if (wrong != NULL) return wrong;
    data[i] = ((const tn_xla_buffer_t *)buffers[i])->data;
  }
  return NULL;
}

/* Checks the operands and results of a call, and copies their pointers, which JavaScript reads before the next call. */
static tn_xla_error_t *take_call(const tn_xla_call_frame_t *frame, const tn_xla_function_t *function) {
  const size_t operands = function->operands;
  if (frame->attrs.size != 0)
    return refuse(frame, "[execute] Wrong number of attributes: expected 0 but got %lld", (long long)frame->attrs.size);
  tn_xla_error_t *wrong = take_buffers(frame, "argument", frame->args.size, frame->args.types, frame->args.args,
                                       operands, function->buffers, function->data);
  if (wrong != NULL) return wrong;
  return take_buffers(frame, "result", frame->rets.size, frame->rets.types, frame->rets.rets, function->results,
                      function->buffers + operands, function->data + operands);
}

static tn_xla_error_t *run(tn_xla_call_frame_t *frame, const slot_t *slot) {
  const tn_xla_function_t *function = slot->function;
  tn_xla_error_t *wrong = function->reads ? NULL : take_call(frame, function);
  if (wrong != NULL) return wrong;
  invocation_t invocation = {frame, NULL};
  const int32_t status = tn__callback_enter(slot->callback, function->data, &invocation);
  if (status == TN_OK || invocation.error != NULL) return invocation.error;
  return fail(frame, status == TN_CLOSED ? TN_XLA_UNAVAILABLE : TN_XLA_INTERNAL, tn_last_error());
}

/* Runs a slot's handler. The function may close its own slot, which is not accessed after the function returns. */
static tn_xla_error_t *enter(tn_xla_call_frame_t *frame, size_t index) {
  if (frame->struct_size != TN_XLA_SIZE_CALL_FRAME)
    return refuse(frame, "Unexpected XLA_FFI_CallFrame size: expected %d got %zu", TN_XLA_SIZE_CALL_FRAME,
                  frame->struct_size);
  if (frame->extension_start != NULL && frame->extension_start->type == TN_XLA_EXTENSION_METADATA) {
    /* The oldest version, which every runtime accepts. Newer features are not used. */
    tn_xla_answer_metadata(frame, 1, 0);
    return NULL;
  }
  if (frame->stage != TN_XLA_EXECUTE)
    return refuse(frame, "Wrong execution stage: expected `execute` but got `%s`", tn_xla_stage_name(frame->stage));
  const uint64_t thread = atomic_load(&slots[index].thread);
  if (thread == 0) return fail(frame, TN_XLA_UNAVAILABLE, "the TypeScript function is closed");
  if (thread != tn__this_thread())
    return fail(frame, TN_XLA_UNAVAILABLE,
                "a TypeScript function was called from a thread that does not run its JavaScript");
  return run(frame, &slots[index]);
}

#define HANDLER(n) \
  static tn_xla_error_t *handler_##n(tn_xla_call_frame_t *frame) { return enter(frame, 0x##n); }
#define HANDLERS(n)                                                                                                \
  HANDLER(n##0) HANDLER(n##1) HANDLER(n##2) HANDLER(n##3) HANDLER(n##4) HANDLER(n##5) HANDLER(n##6) HANDLER(n##7)  \
  HANDLER(n##8) HANDLER(n##9) HANDLER(n##a) HANDLER(n##b) HANDLER(n##c) HANDLER(n##d) HANDLER(n##e) HANDLER(n##f)
#define NAMES(n)                                                                                                   \
  handler_##n##0, handler_##n##1, handler_##n##2, handler_##n##3, handler_##n##4, handler_##n##5, handler_##n##6,  \
      handler_##n##7, handler_##n##8, handler_##n##9, handler_##n##a, handler_##n##b, handler_##n##c,              \
      handler_##n##d, handler_##n##e, handler_##n##f

HANDLERS(0) HANDLERS(1) HANDLERS(2) HANDLERS(3) HANDLERS(4) HANDLERS(5) HANDLERS(6) HANDLERS(7)
HANDLERS(8) HANDLERS(9) HANDLERS(a) HANDLERS(b) HANDLERS(c) HANDLERS(d) HANDLERS(e) HANDLERS(f)

static tn_xla_handler_t *const handlers[TN_XLA_FUNCTIONS] = {
    NAMES(0), NAMES(1), NAMES(2), NAMES(3), NAMES(4), NAMES(5), NAMES(6), NAMES(7),
    NAMES(8), NAMES(9), NAMES(a), NAMES(b), NAMES(c), NAMES(d), NAMES(e), NAMES(f),
};

/* A worker that is terminated does not close its handlers. */
static void end_thread(void *data) {
  (void)data;
  tn__lock(&lock);
  for (size_t i = 0; i < TN_XLA_FUNCTIONS; i++) {
    if (atomic_load(&slots[i].thread) != tn__this_thread()) continue;
    atomic_store(&slots[i].thread, 0);
    tn_callback_release(slots[i].callback);
  }
  tn__unlock(&lock);
}

int32_t tn_xla_function_open(tn_callback_t *callback, const tn_xla_function_t *function, void **out) {
  TN_REQUIRE(callback != NULL && function != NULL && out != NULL, "callback, function and out must not be null");
  tn__javascript_thread_on_end(end_thread, NULL);
  tn__lock(&lock);
  size_t index = 0;
  while (index < TN_XLA_FUNCTIONS && atomic_load(&slots[index].thread) != 0) index++;
  if (index < TN_XLA_FUNCTIONS) {
    slots[index].callback = callback;
    slots[index].function = function;
    atomic_store(&slots[index].thread, tn__this_thread());
  }
  tn__unlock(&lock);
  if (index == TN_XLA_FUNCTIONS)
    return tn__fail(TN_OUT_OF_MEMORY, "at most %d TypeScript functions can be handlers at a time", TN_XLA_FUNCTIONS);
  tn_callback_retain(callback);
  memcpy(out, &handlers[index], sizeof *out);
  return TN_OK;
}

int32_t tn_xla_function_close(const void *handler) {
  tn_callback_t *callback = NULL;
  tn__lock(&lock);
  for (size_t i = 0; i < TN_XLA_FUNCTIONS; i++) {
    if (memcmp(&handler, &handlers[i], sizeof handler) != 0 || atomic_exchange(&slots[i].thread, 0) == 0) continue;
    callback = slots[i].callback;
  }
  tn__unlock(&lock);
  if (callback == NULL) return tn__fail(TN_NOT_FOUND, "the handler is not an open TypeScript function");
  tn_callback_release(callback);
  return TN_OK;
}

int32_t tn_xla_function_fail(void *call, int32_t code, const char *message) {
  invocation_t *invocation = call;
  TN_REQUIRE(invocation != NULL && message != NULL && code != TN_XLA_OK,
             "call and message must not be null, and code must not be OK");
  if (invocation->error == NULL) invocation->error = fail(invocation->frame, code, message);
  return TN_OK;
}

int32_t tn_xla_function_read(const void *call, void *out, size_t capacity, size_t *length) {
  const invocation_t *invocation = call;
  TN_REQUIRE(invocation != NULL && length != NULL && (out != NULL || capacity == 0),
             "call, out and length must not be null");
  return tn__xla_frame_write(invocation->frame, out, capacity, length);
}
