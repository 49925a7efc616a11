/* Kernels for calls that overlap. One waits for its caller, the others run tasks on the threads of their runtime. */
#include <time.h>

#include "typed.h"

/* Waits until the operand s32[] is not 0, and copies it to the result s32[]. */
TN_XLA_EXPORT tn_xla_error_t *wait_for_flag(tn_xla_call_frame_t *frame) {
  static const tn_xla_signature_t signature = {.minor = 3, .stage = TN_XLA_EXECUTE, .args = 1, .rets = 1, .attrs = 0};
  tn_xla_reader_t in;
  if (!tn_xla_open(&in, frame, &signature)) return in.error;
  const tn_xla_buffer_t *flag = tn_xla_arg(&in, 0, TN_XLA_S32, 0);
  const tn_xla_buffer_t *out = tn_xla_ret(&in, 0, TN_XLA_S32, 0);
  if (!tn_xla_complete(&in)) return in.error;
  const struct timespec pause = {0, 100000};
  int32_t value;
  while ((value = __atomic_load_n((const int32_t *)flag->data, __ATOMIC_ACQUIRE)) == 0) nanosleep(&pause, NULL);
  *(int32_t *)out->data = value;
  return NULL;
}
TN_XLA_MARK_TYPED(wait_for_flag);

typedef struct {
  const float *from;
  double sum;
  int done;
} part_t;

static void add_up(void *data) {
  part_t *part = data;
  for (int i = 0; i < 256; i++) part->sum += part->from[i];
  __atomic_store_n(&part->done, 1, __ATOMIC_RELEASE);
}

/* f32[] = the sum of x f32[1024], which four tasks on the thread pool of the runtime compute. */
static tn_xla_error_t *sum(tn_xla_call_frame_t *frame, int32_t minor) {
  const tn_xla_signature_t signature = {.minor = minor, .stage = TN_XLA_EXECUTE, .args = 1, .rets = 1, .attrs = 0};
  tn_xla_reader_t in;
  if (!tn_xla_open(&in, frame, &signature)) return in.error;
  const tn_xla_buffer_t *x = tn_xla_arg(&in, 0, TN_XLA_F32, 1);
  const tn_xla_buffer_t *sum = tn_xla_ret(&in, 0, TN_XLA_F32, 0);
  if (!tn_xla_complete(&in)) return in.error;
  if (x->dims[0] != 1024)
    return tn_xla_fail(frame, TN_XLA_INVALID_ARGUMENT, "x must have 1024 elements, got %lld", (long long)x->dims[0]);
  part_t parts[4];
  const struct timespec pause = {0, 100000};
  double total = 0;
  tn_xla_error_t *error = NULL;
  int scheduled = 0;
  for (; scheduled < 4; scheduled++) {
    parts[scheduled] = (part_t){(const float *)x->data + 256 * scheduled, 0, 0};
    tn_xla_pool_schedule_args_t args = {sizeof args, NULL, frame->ctx, add_up, &parts[scheduled]};
    error = frame->api->pool_schedule(&args);
    if (error != NULL) break;
  }
  for (int i = 0; i < scheduled; i++) {
    while (!__atomic_load_n(&parts[i].done, __ATOMIC_ACQUIRE)) nanosleep(&pause, NULL);
    total += parts[i].sum;
  }
  *(float *)sum->data = (float)total;
  return error;
}

TYPED_HANDLER(sum_by_pool, sum(frame, 3));
TYPED_HANDLER(sum_by_pool_v1, sum(frame, 1));
TYPED_HANDLER(sum_by_pool_v2, sum(frame, 2));
TYPED_HANDLER(sum_by_pool_v4, sum(frame, 4));
