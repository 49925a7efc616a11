/* Handlers that return a future and complete it on a thread of their own, one for each version of the ABI. */
#include <pthread.h>
#include <stdlib.h>

#include "typed.h"

typedef struct {
  const tn_xla_api_t *api;
  tn_xla_future_t *future;
  const float *from;
  float *to;
  int64_t count;
  float factor;
} job_t;

/* Operands, results and attributes live until the future completes, but the frame and its context end with the call. A
 * negative factor is refused here, so that the future fails and not the call. */
static void *scale(void *pointer) {
  job_t job = *(job_t *)pointer;
  free(pointer);
  if (job.factor < 0) {
    tn_xla_error_create_args_t create = {
        TN_XLA_SIZE_ERROR_CREATE, NULL, "the factor must not be negative", TN_XLA_OUT_OF_RANGE};
    tn_xla_future_error_args_t failed = {sizeof failed, NULL, job.future, job.api->error_create(&create)};
    job.api->future_set_error(&failed);
    return NULL;
  }
  for (int64_t i = 0; i < job.count; i++) job.to[i] = job.factor * job.from[i];
  tn_xla_future_available_args_t available = {sizeof available, NULL, job.future};
  job.api->future_set_available(&available);
  return NULL;
}

static tn_xla_error_t *start(tn_xla_call_frame_t *frame, job_t job) {
  tn_xla_future_create_args_t create = {TN_XLA_SIZE_FUTURE_CREATE, NULL, NULL};
  tn_xla_error_t *error = frame->api->future_create(&create);
  if (error != NULL) return error;
  job.future = create.future;
  job_t *copy = malloc(sizeof *copy);
  pthread_t thread;
  if (copy != NULL) *copy = job;
  frame->future = job.future;
  if (copy == NULL || pthread_create(&thread, NULL, scale, copy) != 0) {
    free(copy);
    tn_xla_future_error_args_t failed = {sizeof failed, NULL, job.future,
                                         tn_xla_fail(frame, TN_XLA_RESOURCE_EXHAUSTED, "cannot start a thread")};
    return frame->api->future_set_error(&failed);
  }
  pthread_detach(thread);
  return NULL;
}

/* y = factor * x, both f32[n]; attribute factor: f32, not negative. */
static tn_xla_error_t *run(tn_xla_call_frame_t *frame, int32_t minor) {
  const tn_xla_signature_t signature = {.minor = minor, .stage = TN_XLA_EXECUTE, .args = 1, .rets = 1, .attrs = 1};
  tn_xla_reader_t in;
  if (!tn_xla_open(&in, frame, &signature)) return in.error;
  const tn_xla_buffer_t *x = tn_xla_arg(&in, 0, TN_XLA_F32, 1);
  tn_xla_buffer_t *y = tn_xla_ret(&in, 0, TN_XLA_F32, 1);
  const float factor = tn_xla_attr_f32(&in, NULL, "factor");
  if (!tn_xla_complete(&in)) return in.error;
  if (!tn_xla_same_shape(x, y)) return tn_xla_fail(frame, TN_XLA_INVALID_ARGUMENT, "y must have the shape of x");
  return start(frame, (job_t){frame->api, NULL, x->data, y->data, x->dims[0], factor});
}

TYPED_HANDLER(scale_later, run(frame, 3));
TYPED_HANDLER(scale_later_v1, run(frame, 1));
TYPED_HANDLER(scale_later_v2, run(frame, 2));
TYPED_HANDLER(scale_later_v4, run(frame, 4));

/* Returns a future that never completes. */
TN_XLA_EXPORT tn_xla_error_t *never_done(tn_xla_call_frame_t *frame) {
  static const tn_xla_signature_t signature = {
      .minor = 3, .stage = TN_XLA_EXECUTE, .args = TN_XLA_ANY, .rets = TN_XLA_ANY, .attrs = 0};
  tn_xla_reader_t in;
  if (!tn_xla_open(&in, frame, &signature) || !tn_xla_complete(&in)) return in.error;
  tn_xla_future_create_args_t create = {TN_XLA_SIZE_FUTURE_CREATE, NULL, NULL};
  tn_xla_error_t *error = frame->api->future_create(&create);
  frame->future = create.future;
  return error;
}
TN_XLA_MARK_TYPED(never_done);
