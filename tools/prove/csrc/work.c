/* The work that all contestants of `pnpm prove` do. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/kernel.h>

#define EXPORT __attribute__((visibility("default")))

typedef struct {
  double x, y;
} point;

typedef int32_t (*step)(int32_t);

EXPORT void prove_nothing(void) {}

EXPORT int32_t prove_add_one(int32_t value) { return (int32_t)((uint32_t)value + 1); }

EXPORT int32_t prove_sum(const uint8_t *bytes, int64_t size) {
  uint32_t sum = 0;
  for (int64_t i = 0; i < size; i++) sum += bytes[i];
  return (int32_t)sum;
}

static uint8_t *volatile last;

/* Keeps the address of the bytes, so that prove_kept() shows whether JavaScript still writes to the same memory. */
EXPORT int32_t prove_keep(uint8_t *bytes) {
  last = bytes;
  return bytes[0];
}

EXPORT int32_t prove_kept(void) { return last[0]; }

EXPORT void prove_fill(uint8_t *bytes, int64_t size, int32_t value) { memset(bytes, value, (size_t)size); }

EXPORT int32_t prove_length(const char *text) { return (int32_t)strlen(text); }

EXPORT const char *prove_text(void) { return "na\xc3\xafve \xe2\x9c\x93"; }

EXPORT point prove_scale(point at, double factor) { return (point){at.x * factor, at.y * factor}; }

/* Calls a function `count` times, each with the result of the call before. */
EXPORT int32_t prove_repeat(step next, int32_t count) {
  int32_t value = 0;
  for (int32_t i = 0; i < count; i++) value = next(value);
  return value;
}

typedef struct {
  step next;
  int32_t count;
} repetition;

static void *repeat(void *argument) {
  repetition *const job = argument;
  prove_repeat(job->next, job->count);
  free(job);
  return NULL;
}

/* The same on a thread of its own, which goes on after the return. Returns 0 if it has started. */
EXPORT int32_t prove_repeat_on_thread(step next, int32_t count) {
  repetition *const job = malloc(sizeof *job);
  if (job == NULL) return -1;
  *job = (repetition){next, count};
  pthread_t thread;
  if (pthread_create(&thread, NULL, repeat, job) != 0) {
    free(job);
    return -1;
  }
  return pthread_detach(thread);
}

EXPORT void *prove_allocate(int64_t size) { return calloc(1, (size_t)size); }

EXPORT void prove_free(void *memory) { free(memory); }

/* The address is read at run time, so the compiler must keep the write. */
static int32_t *volatile nowhere;

EXPORT int32_t prove_write_null(int32_t value) { return *nowhere = value; }

static volatile int32_t turns;

EXPORT int32_t prove_spin(int32_t value) {
  for (;;) turns += value;
}

TN_KERNEL(prove_double, "(x: f32[2, 2]) -> (y: f32[2, 2]) -- x + x.") {
  const tn_xla_buffer_t *x = tn_xla_arg(in, 0, TN_XLA_F32, 2), *y = tn_xla_ret_like(in, 0, x);
  if (!tn_xla_complete(in)) return;
  for (int i = 0; i < 4; i++) ((float *)y->data)[i] = 2 * ((const float *)x->data)[i];
}
