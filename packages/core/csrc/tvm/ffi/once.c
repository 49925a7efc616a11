/* Handles that are made once, whoever comes first. */
#include <pthread.h>

#include "internal.h"

/* Recursive: the init of one handle may need another. */
static pthread_mutex_t mutex;

__attribute__((constructor(101))) static void make_mutex(void) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

int TVMFFIHandleInitOnce(void **handle, int (*init)(void **result)) {
  if (__atomic_load_n(handle, __ATOMIC_ACQUIRE) != NULL) return 0;
  pthread_mutex_lock(&mutex);
  int status = 0;
  if (*handle == NULL) {
    void *made = NULL;
    status = init(&made);
    if (status == 0 && made == NULL) status = tn__raise("RuntimeError", "init_func must return a non-NULL handle");
    if (status == 0) __atomic_store_n(handle, made, __ATOMIC_RELEASE);
  }
  pthread_mutex_unlock(&mutex);
  return status;
}

int TVMFFIHandleDeinitOnce(void **handle, int (*deinit)(void *handle)) {
  void *old = __atomic_exchange_n(handle, NULL, __ATOMIC_ACQ_REL);
  return old == NULL ? 0 : deinit(old);
}
