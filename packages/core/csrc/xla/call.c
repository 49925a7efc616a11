/* Prepared calls: the stages of a run, its failure, and its end. */
#include <stdlib.h>

#include "call/guard_call.h"
#include "tenon/xla_handler.h"
#include "internal.h"

static inline tn_xla_error_t *call_handler(tn_xla_handler_t *handler, tn_xla_call_frame_t *frame) {
  tn_xla_error_t *returned = handler(frame);
  tn_xla_future_t *future = frame->future;
  if (returned == NULL && future == NULL) return NULL;
  frame->future = NULL;
  return tn__xla_settle(returned, future);
}

/* Makes all words of the frame those of the image, because an earlier handler may have written to them. */
static inline void lay_frame(tn__xla_call_t *call, int32_t stage) {
  void *frame = (uint8_t *)call + offsetof(tn__xla_call_t, frame);
  /* Most handlers write nothing, and comparing costs less than copying, because the handler need not wait for it. */
  if (memcmp(frame, call->image, call->image_size) != 0) memcpy(frame, call->image, call->image_size);
  if (stage != TN_XLA_EXECUTE) call->frame.stage = stage;
}

static inline tn_xla_error_t *run_stage(tn__xla_call_t *call, tn_xla_handler_t *handler, int32_t stage) {
  lay_frame(call, stage);
  return call_handler(handler, &call->frame);
}

/* Makes the device of a call current on this thread. Returns 0, and sets the error, if that failed. */
static inline int enter_device(tn__xla_call_t *call) {
  if (tn__xla_enter(call->context.owner->device)) return 1;
  call->error = tn__xla_error(TN_XLA_UNAVAILABLE, "the device of the call cannot be entered on this thread");
  return 0;
}

static inline int run_first_stages(tn__xla_call_t *call) {
  const tn_xla_bundle_v1_t *handlers = &call->handlers;
  if (!enter_device(call)) return 0;
  if (handlers->prepare != NULL && (call->error = run_stage(call, handlers->prepare, TN_XLA_PREPARE)) != NULL) return 0;
  if (handlers->initialize != NULL) call->error = run_stage(call, handlers->initialize, TN_XLA_INITIALIZE);
  return call->error == NULL;
}

static void run_stages(void *context) {
  tn__xla_call_t *call = context;
  if (run_first_stages(call)) call->error = run_stage(call, call->handlers.execute, TN_XLA_EXECUTE);
}

/* Runs all stages, and leaves the future of the execute handler in the frame. */
static void start_stages(void *context) {
  tn__xla_call_t *call = context;
  if (!run_first_stages(call)) return;
  lay_frame(call, TN_XLA_EXECUTE);
  tn_xla_error_t *returned = call->handlers.execute(&call->frame);
  if (returned == NULL) return;
  tn_xla_future_t *future = call->frame.future;
  call->frame.future = NULL;
  call->error = tn__xla_settle(returned, future);
}

/* The instantiate stage sees only the attributes. */
static void run_instantiate(void *context) {
  tn__xla_call_t *call = context;
  if (!enter_device(call)) return;
  tn_xla_call_frame_t frame = call->frame;
  frame.args = (tn_xla_args_t){.struct_size = sizeof frame.args};
  frame.rets = (tn_xla_rets_t){.struct_size = sizeof frame.rets};
  frame.future = NULL;
  frame.stage = call->frame.stage = TN_XLA_INSTANTIATE;
  call->error = call_handler(call->handlers.instantiate, &frame);
}

static void clear_run(void *context) {
  tn_xla_context_t *ctx = context;
  tn__xla_memory_clear(ctx);
  tn__xla_state_clear(&ctx->states[TN_XLA_INITIALIZE]);
  tn__xla_state_clear(&ctx->states[TN_XLA_PREPARE]);
}

static void clear_error(tn__xla_call_t *call) {
  if (call->error != NULL) tn__xla_error_destroy(call->error);
  call->error = NULL;
}

/* Makes an exception, which is the last error, the same error as in XLA's runtime, but with the code of its kind. */
static int32_t fail_with_exception(tn__xla_call_t *call, int32_t status) {
  const int32_t code = status == TN_OUT_OF_MEMORY ? TN_XLA_RESOURCE_EXHAUSTED : TN_XLA_UNKNOWN;
  call->error = tn__xla_error(code, "XLA FFI call failed: %s", tn_last_error());
  if (call->frame.future != NULL) tn__xla_future_abandon(call->frame.future);
  call->frame.future = NULL;
  return TN_EXCEPTION;
}

/* Runs `body` under the guard. */
static inline int32_t run_with(tn__xla_call_t *call, void (*body)(void *), void *context) {
  if (call->error != NULL) clear_error(call);
  const int32_t status = tn__guard_call(body, context);
  if (status == TN_OK) return call->error == NULL ? TN_OK : TN_KERNEL_FAILED;
  return status == TN_UNSUPPORTED ? status : fail_with_exception(call, status);
}

static inline int32_t run(tn__xla_call_t *call, void (*body)(void *)) { return run_with(call, body, call); }

int32_t tn_xla_instantiate(void *memory) {
  tn__xla_call_t *call = memory;
  TN_REQUIRE(call != NULL, "call must not be null");
  return call->handlers.instantiate == NULL ? TN_OK : run(call, run_instantiate);
}

/* Ends a run: destroys the states of its stages and frees the memory of its handlers. Returns the status of the run. */
static int32_t end_run(tn__xla_call_t *call, int32_t status) {
  tn_xla_context_t *context = &call->context;
  if (context->states[TN_XLA_PREPARE].state == NULL && context->states[TN_XLA_INITIALIZE].state == NULL &&
      context->blocks == NULL)
    return status;
  const int32_t cleared = tn_guard_call(clear_run, context);
  if (status != TN_OK || cleared == TN_OK) return status;
  call->error = tn__xla_error(TN_XLA_UNKNOWN, "destroying a state failed: %s", tn_last_error());
  return TN_EXCEPTION;
}

int32_t tn__xla_execute(tn__xla_call_t *call) {
  TN_REQUIRE(call != NULL, "call must not be null");
  call->context.run_id = 0;
  return end_run(call, run(call, run_stages));
}

int32_t tn_xla_execute(void *call) { return tn__xla_execute(call); }

int32_t tn__xla_enter_call(tn__xla_call_t *call) {
  TN_REQUIRE(call != NULL, "call must not be null");
  if (call->error != NULL) clear_error(call);
  call->context.run_id = 0;
  run_stages(call);
  return end_run(call, call->error == NULL ? TN_OK : TN_KERNEL_FAILED);
}

int32_t tn__xla_end_exception(tn__xla_call_t *call, int32_t status) {
  return end_run(call, fail_with_exception(call, status));
}

typedef struct {
  tn__xla_call_t *call;
  tn_xla_error_t *(*begin)(void *);
  void *data;
  int begun;
} between_t;

static void run_between(void *context) {
  between_t *between = context;
  tn__xla_call_t *call = between->call;
  if (!run_first_stages(call) || (call->error = between->begin(between->data)) != NULL) return;
  between->begun = 1;
  call->context.captures = 1;
  call->error = run_stage(call, call->handlers.execute, TN_XLA_EXECUTE);
}

int32_t tn__xla_execute_between(tn__xla_call_t *call, tn_xla_error_t *(*begin)(void *), tn_xla_error_t *(*end)(void *),
                                void *data) {
  between_t between = {call, begin, data, 0};
  call->context.run_id = 0;
  int32_t status = run_with(call, run_between, &between);
  call->context.captures = 0;
  /* After an exception too, because `begin` needs its `end`. */
  tn_xla_error_t *wrong = between.begun ? end(data) : NULL;
  if (wrong != NULL && status == TN_OK) {
    call->error = wrong;
    status = TN_KERNEL_FAILED;
  } else if (wrong != NULL) {
    tn__xla_error_destroy(wrong);
  }
  return end_run(call, status);
}

int tn__xla_call_start(tn__xla_call_t *call, tn__xla_then_t *then, void *data, int32_t *status) {
  call->context.run_id = 0;
  call->frame.future = NULL;
  *status = run(call, start_stages);
  tn_xla_future_t *future = call->frame.future;
  if (*status == TN_OK && future != NULL) {
    call->frame.future = NULL;
    /* From here on `then` owns the call, which may be over already. */
    tn_xla_error_t *wrong = tn__xla_future_then(future, then, data);
    if (wrong == NULL) return 0;
    call->error = wrong;
    *status = TN_KERNEL_FAILED;
  }
  *status = end_run(call, *status);
  return 1;
}

int32_t tn__xla_call_finish(tn__xla_call_t *call, tn_xla_error_t *error) {
  call->error = error;
  return end_run(call, error == NULL ? TN_OK : TN_KERNEL_FAILED);
}

int32_t tn_xla_share(void *memory, void *original) {
  TN_REQUIRE(memory != NULL && original != NULL, "call and original must not be null");
  ((tn__xla_call_t *)memory)->context.owner = ((tn__xla_call_t *)original)->context.owner;
  return TN_OK;
}

int32_t tn_xla_failure(void *memory, int32_t *code, int32_t *stage, char *message, size_t capacity, size_t *length) {
  tn__xla_call_t *call = memory;
  TN_REQUIRE(call != NULL && code != NULL && stage != NULL && length != NULL && (message != NULL || capacity == 0),
             "call, code, stage, message and length must not be null");
  if (call->error == NULL) return tn__fail(TN_NOT_FOUND, "the last run did not fail");
  *code = call->error->code;
  *stage = call->frame.stage;
  if (tn__xla_copy_message(call->error->message, call->error->length, message, capacity, length)) clear_error(call);
  return TN_OK;
}

static void close_states(void *context) {
  tn_xla_context_t *ctx = context;
  clear_run(ctx);
  tn__xla_state_clear(&ctx->states[TN_XLA_INSTANTIATE]);
}

int32_t tn_xla_close(void *memory) {
  tn__xla_call_t *call = memory;
  TN_REQUIRE(call != NULL, "call must not be null");
  clear_error(call);
  while (call->context.user_data != NULL) {
    tn__xla_user_data_t *first = call->context.user_data;
    call->context.user_data = first->next;
    free(first);
  }
  return tn_guard_call(close_states, &call->context) == TN_OK ? TN_OK : TN_EXCEPTION;
}
