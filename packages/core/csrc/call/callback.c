/* TypeScript functions that native code calls. Each thread that runs JavaScript has one trampoline, which finds the
 * function by its id. Released ids are queued for that thread, and calls from other threads are refused. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "callback.h"
#include "tenon_call.h"

/* The result of the trampoline when the function has returned. koffi returns 0 for a trampoline that throws. */
#define TRAMPOLINE_DONE 1

struct tn_callbacks {
  tn_trampoline_t trampoline;
  tn_callback_call_t *call;            /* owned by JavaScript; outlives the table */
  uint64_t thread;                     /* the only thread that may enter the trampoline */
  atomic_bool closed;                  /* its JavaScript has ended */
  atomic_size_t references;            /* one of JavaScript, and one of each callback */
  _Atomic(tn_callback_t *) released;   /* callbacks without references, until JavaScript takes their ids */
  tn_callback_t *taken;                /* the rest of the queue that JavaScript is taking; used by the thread alone */
};

struct tn_callback {
  tn_callbacks_t *table;
  int64_t id;
  atomic_size_t references;
  tn_callback_t *next_released;
};

uint64_t tn__this_thread(void) {
  static atomic_uint_fast64_t last;
  static _Thread_local uint64_t mine;
  if (mine == 0) mine = atomic_fetch_add(&last, 1) + 1;
  return mine;
}

static void leave_table(tn_callbacks_t *table) {
  if (atomic_fetch_sub(&table->references, 1) == 1) free(table);
}

static void destroy_all(tn_callback_t *callback) {
  for (tn_callback_t *next; callback != NULL; callback = next) {
    tn_callbacks_t *table = callback->table;
    next = callback->next_released;
    free(callback);
    leave_table(table);
  }
}

int32_t tn_callbacks_open(tn_trampoline_t trampoline, tn_callback_call_t *call, tn_callbacks_t **out) {
  TN_REQUIRE(trampoline != NULL && call != NULL && out != NULL, "trampoline, call and out must not be null");
  tn_callbacks_t *table = calloc(1, sizeof *table);
  if (table == NULL) return tn__fail(TN_OUT_OF_MEMORY, "out of memory: cannot allocate a table of callbacks");
  table->trampoline = trampoline;
  table->call = call;
  table->thread = tn__this_thread();
  atomic_init(&table->references, 1);
  *out = table;
  return TN_OK;
}

void tn_callbacks_close(tn_callbacks_t *table) {
  if (table == NULL || atomic_exchange(&table->closed, true)) return;
  destroy_all(table->taken);
  destroy_all(atomic_exchange(&table->released, NULL));
  leave_table(table);
}

int32_t tn_callbacks_take_released(tn_callbacks_t *table, int64_t *ids, size_t capacity, size_t *count) {
  TN_REQUIRE(table != NULL && ids != NULL && count != NULL, "table, ids and count must not be null");
  size_t taken = 0;
  while (taken < capacity) {
    if (table->taken == NULL) table->taken = atomic_exchange(&table->released, NULL);
    tn_callback_t *callback = table->taken;
    if (callback == NULL) break;
    table->taken = callback->next_released;
    callback->next_released = NULL;
    ids[taken++] = callback->id;
    destroy_all(callback);
  }
  *count = taken;
  return TN_OK;
}

int32_t tn_callback_create(tn_callbacks_t *table, int64_t id, tn_callback_t **out) {
  TN_REQUIRE(table != NULL && out != NULL, "table and out must not be null");
  tn_callback_t *callback = calloc(1, sizeof *callback);
  if (callback == NULL) return tn__fail(TN_OUT_OF_MEMORY, "out of memory: cannot allocate a callback");
  callback->table = table;
  callback->id = id;
  atomic_init(&callback->references, 1);
  atomic_fetch_add(&table->references, 1);
  *out = callback;
  return TN_OK;
}

void tn_callback_retain(tn_callback_t *callback) {
  if (callback != NULL) atomic_fetch_add(&callback->references, 1);
}

void tn_callback_release(tn_callback_t *callback) {
  if (callback == NULL || atomic_fetch_sub(&callback->references, 1) != 1) return;
  tn_callbacks_t *table = callback->table;
  atomic_fetch_add(&table->references, 1); /* another thread may empty the queue and free the table meanwhile */
  callback->next_released = atomic_load(&table->released);
  while (!atomic_compare_exchange_weak(&table->released, &callback->next_released, callback)) continue;
  if (atomic_load(&table->closed)) destroy_all(atomic_exchange(&table->released, NULL));
  leave_table(table);
}

int32_t tn__callback_enter(tn_callback_t *callback, void *arguments, void *result) {
  const tn_callbacks_t *table = callback->table;
  if (atomic_load(&table->closed))
    return tn__fail(TN_CLOSED, "a TypeScript function was called after its JavaScript had ended");
  *table->call = (tn_callback_call_t){(double)callback->id, (double)(uintptr_t)arguments, (double)(uintptr_t)result};
  if (table->trampoline() == TRAMPOLINE_DONE) return TN_OK;
  return tn__fail(TN_CALLBACK_FAILED, "a TypeScript function threw");
}

int32_t tn_callback_invoke(tn_callback_t *callback, void *arguments, void *result) {
  TN_REQUIRE(callback != NULL, "callback must not be null");
  if (callback->table->thread != tn__this_thread())
    return tn__fail(TN_WRONG_THREAD, "a TypeScript function was called from a thread that does not run its JavaScript");
  return tn__callback_enter(callback, arguments, result);
}
