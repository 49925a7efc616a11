/* TypeScript functions as typed handlers. Each is a stub, which any runtime can call by its address. */
#include <stdlib.h>

#include "call/callback.h"
#include "call/stub_slots.h"
#include "call/stubs.h"
#include "tenon/xla_handler.h"
#include "internal.h"

/* A call in progress, which is passed to tn_xla_function_fail(). */
typedef struct {
  tn_xla_call_frame_t *frame;
  tn_xla_error_t *error; /* what the handler returns; set by tn_xla_function_fail() */
} invocation_t;

/* What the stub of a handler runs. Only the thread of its JavaScript opens, reads and closes it. */
typedef struct {
  tn_callback_t *callback;
  const tn_xla_function_t *function;
} handler_t;

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

static tn_xla_error_t *run_callback(tn_environment_t *environment, tn_xla_call_frame_t *frame,
                                    const handler_t *handler) {
  const tn_xla_function_t *function = handler->function;
  tn_xla_error_t *wrong = function->reads ? NULL : take_call(frame, function);
  if (wrong != NULL) return wrong;
  invocation_t invocation = {frame, NULL};
  const int32_t status = tn__callback_run(environment, handler->callback, function->data, &invocation);
  if (status == TN_OK || invocation.error != NULL) return invocation.error;
  return fail(frame, status == TN_CLOSED ? TN_XLA_UNAVAILABLE : TN_XLA_INTERNAL, tn_last_error());
}

/* Answers a call before its function is asked. Returns whether there is nothing left to do. */
static int is_answered(tn_xla_call_frame_t *frame, tn_xla_error_t **error) {
  *error = NULL;
  if (frame->struct_size != TN_XLA_SIZE_CALL_FRAME) {
    *error = refuse(frame, "Unexpected XLA_FFI_CallFrame size: expected %d got %zu", TN_XLA_SIZE_CALL_FRAME,
                    frame->struct_size);
    return 1;
  }
  if (frame->extension_start != NULL && frame->extension_start->type == TN_XLA_EXTENSION_METADATA) {
    /* The oldest version, which every runtime accepts. Newer features are not used. */
    tn_xla_answer_metadata(frame, 1, 0);
    return 1;
  }
  if (frame->stage == TN_XLA_EXECUTE) return 0;
  *error = refuse(frame, "Wrong execution stage: expected `execute` but got `%s`", tn_xla_stage_name(frame->stage));
  return 1;
}

static tn_xla_call_frame_t *frame_of(const tn__registers_t *registers) {
  return (tn_xla_call_frame_t *)(uintptr_t)registers->integers[0];
}

/* The function may close its own handler, which is not accessed after the function returns. */
static void run_stub(const tn__stub_t *stub, tn__registers_t *registers, const void *stack, uint64_t live) {
  (void)stack;
  tn_xla_call_frame_t *frame = frame_of(registers);
  tn_xla_error_t *error;
  tn_environment_t *environment = tn_environment_current();
  if (!is_answered(frame, &error))
    error = environment != NULL && tn_environment_id() == live >> 32
                ? run_callback(environment, frame, (const handler_t *)(uintptr_t)stub->value)
                : fail(frame, TN_XLA_UNAVAILABLE,
                       "a TypeScript function was called from a thread that does not run its JavaScript");
  registers->results[0] = (uintptr_t)error;
}

static void refuse_stub(const tn__stub_t *stub, tn__registers_t *registers) {
  (void)stub;
  tn_xla_call_frame_t *frame = frame_of(registers);
  tn_xla_error_t *error;
  if (!is_answered(frame, &error)) error = fail(frame, TN_XLA_UNAVAILABLE, "the TypeScript function is closed");
  registers->results[0] = (uintptr_t)error;
}

static void drop_handler(uint64_t value) {
  handler_t *handler = (handler_t *)(uintptr_t)value;
  tn_callback_release(handler->callback);
  free(handler);
}

int32_t tn_xla_function_open(tn_callback_t *callback, const tn_xla_function_t *function, void **out) {
  TN_REQUIRE(callback != NULL && function != NULL && out != NULL, "callback, function and out must not be null");
  tn__stub_behave(TN__STUB_HANDLER, &(tn__stub_behaviour_t){run_stub, refuse_stub, drop_handler});
  handler_t *handler = malloc(sizeof *handler);
  if (handler == NULL) return tn__fail(TN_OUT_OF_MEMORY, "out of memory: cannot allocate a handler");
  *handler = (handler_t){callback, function};
  const tn__stub_t template = {
      .live = tn_callback_environment(callback) << 32,
      .value = (uintptr_t)handler,
      .shape = (uint32_t)TN__STUB_HANDLER << 30,
  };
  void *made = tn__stub_make(&template);
  if (made == NULL) {
    free(handler);
    return tn__fail(TN_OUT_OF_MEMORY, "the process has used all addresses for handlers");
  }
  tn_callback_retain(callback);
  *out = made;
  return TN_OK;
}

int32_t tn_xla_function_close(const void *handler) {
  if (tn__stub_close(handler, TN__STUB_HANDLER)) return TN_OK;
  return tn__fail(TN_NOT_FOUND, "the handler is not an open TypeScript function");
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
