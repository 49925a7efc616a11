/* A handler that calls another handler with its own memory, as a runtime of XLA FFI does. */
#include <pthread.h>
#include <stdlib.h>

#include <tenon/xla_handler.h>
#include <tenon/xla_mark.h>

typedef struct {
  tn_xla_handler_t *handler;
  tn_xla_call_frame_t frame;
  tn_xla_error_t *error;
} work_t;

static void *run(void *work) {
  work_t *mine = work;
  mine->error = mine->handler(&mine->frame);
  return NULL;
}

static tn_xla_error_t *delegate_to(tn_xla_call_frame_t *frame, tn_xla_handler_t *handler, int elsewhere,
                                   const tn_xla_buffer_t *x, const tn_xla_buffer_t *y, float *memory) {
  const size_t count = (size_t)x->dims[0];
  tn_xla_buffer_t in = *x, out = *y;
  in.data = memory;
  out.data = memory + count;
  memcpy(in.data, x->data, count * sizeof *memory);
  void *operands[] = {&in}, *results[] = {&out};
  int32_t kinds[] = {TN_XLA_BUFFER};
  work_t work = {handler, *frame, NULL};
  work.frame.args.args = operands;
  work.frame.args.types = kinds;
  work.frame.rets.rets = results;
  work.frame.rets.types = kinds;
  work.frame.attrs = (tn_xla_attrs_t){sizeof work.frame.attrs, NULL, 0, NULL, NULL, NULL};
  pthread_t thread;
  if (!elsewhere) {
    run(&work);
  } else if (pthread_create(&thread, NULL, run, &work) == 0) {
    pthread_join(thread, NULL);
  } else {
    return tn_xla_fail(frame, TN_XLA_RESOURCE_EXHAUSTED, "cannot start a thread");
  }
  if (work.error == NULL) memcpy(y->data, out.data, count * sizeof *memory);
  return work.error;
}

/* y f32[n] from x f32[n]. Attributes: handler (s64), the address of the handler to call, and elsewhere (pred), whether
 * to call it on another thread. */
TN_XLA_EXPORT tn_xla_error_t *delegate(tn_xla_call_frame_t *frame) {
  static const tn_xla_signature_t signature = {.minor = 3, .stage = TN_XLA_EXECUTE, .args = 1, .rets = 1, .attrs = 2};
  tn_xla_reader_t in;
  if (!tn_xla_open(&in, frame, &signature)) return in.error;
  const tn_xla_buffer_t *x = tn_xla_arg(&in, 0, TN_XLA_F32, 1);
  const tn_xla_buffer_t *y = tn_xla_ret(&in, 0, TN_XLA_F32, 1);
  const int64_t address = tn_xla_attr_s64(&in, NULL, "handler");
  const int elsewhere = tn_xla_attr_pred(&in, NULL, "elsewhere");
  if (!tn_xla_complete(&in)) return in.error;
  if (!tn_xla_same_shape(x, y)) return tn_xla_fail(frame, TN_XLA_INVALID_ARGUMENT, "y must have the shape of x");
  tn_xla_handler_t *handler = NULL;
  memcpy(&handler, &address, sizeof handler);
  float *memory = malloc(2 * (size_t)x->dims[0] * sizeof *memory + 1);
  if (memory == NULL) return tn_xla_fail(frame, TN_XLA_RESOURCE_EXHAUSTED, "out of memory for a copy");
  tn_xla_error_t *error = delegate_to(frame, handler, elsewhere, x, y, memory);
  free(memory);
  return error;
}
TN_XLA_MARK_TYPED(delegate);
