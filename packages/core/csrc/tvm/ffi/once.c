/* Handles that are initialised once, by the first thread that needs them. */
#include "../once.h"

#include "internal.h"
#include "tenon_call.h"

typedef struct {
  int (*init)(void **result);
  void *made;
  int status;
} init_t;

static void run(void *context) {
  init_t *init = context;
  init->status = init->init(&init->made);
}

/* A C++ exception must not leave the initialisation, for which other threads may wait. */
static int guarded(init_t *init) {
  const int32_t status = tn_guard_call(run, init);
  if (status == TN_UNSUPPORTED) run(init);
  if (status != TN_OK && status != TN_UNSUPPORTED)
    return tn__raise("InternalError", "the initialisation of a handle threw a C++ exception: %s", tn_last_error());
  if (init->status == 0 && init->made == NULL) return tn__raise("RuntimeError", "init_func must return a non-NULL handle");
  return init->status;
}

int TVMFFIHandleInitOnce(void **handle, int (*init)(void **result)) {
  if (__atomic_load_n(handle, __ATOMIC_ACQUIRE) != NULL) return 0;
  tn__once_t once;
  const tn__once_state_t state = tn__once_begin(&once, handle);
  if (state == TN__ONCE_DONE) return 0;
  if (state == TN__ONCE_CIRCULAR) return tn__raise("RuntimeError", TN__ONCE_CIRCULAR_TEXT);
  init_t call = {.init = init};
  const int status = guarded(&call);
  tn__once_end(&once, status == 0 ? call.made : NULL);
  return status;
}

int TVMFFIHandleDeinitOnce(void **handle, int (*deinit)(void *handle)) {
  void *old = __atomic_exchange_n(handle, NULL, __ATOMIC_ACQ_REL);
  return old == NULL ? 0 : deinit(old);
}
