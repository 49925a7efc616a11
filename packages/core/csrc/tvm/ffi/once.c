/* Handles that are initialised once, by the first thread that needs them. */
#include "../../base/lock.h"
#include "internal.h"

static tn__lock_t lock = TN__LOCK;

/* The inits in progress on the calling thread, which holds the lock. One init may need another handle. */
static _Thread_local int depth;

int TVMFFIHandleInitOnce(void **handle, int (*init)(void **result)) {
  if (__atomic_load_n(handle, __ATOMIC_ACQUIRE) != NULL) return 0;
  if (depth == 0) tn__lock(&lock);
  depth++;
  int status = 0;
  if (__atomic_load_n(handle, __ATOMIC_RELAXED) == NULL) {
    void *made = NULL;
    status = init(&made);
    if (status == 0 && made == NULL) status = tn__raise("RuntimeError", "init_func must return a non-NULL handle");
    if (status == 0) __atomic_store_n(handle, made, __ATOMIC_RELEASE);
  }
  depth--;
  if (depth == 0) tn__unlock(&lock);
  return status;
}

int TVMFFIHandleDeinitOnce(void **handle, int (*deinit)(void *handle)) {
  void *old = __atomic_exchange_n(handle, NULL, __ATOMIC_ACQ_REL);
  return old == NULL ? 0 : deinit(old);
}
