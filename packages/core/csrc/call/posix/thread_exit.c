#include "../thread_exit.h"

/* glibc then registers cleanups with the thread. Those of the compiler would need the library of its exceptions. */
#undef __EXCEPTIONS
#include <pthread.h>

void tn__run_to_end(void (*run)(void *data), void (*ended)(void *data), void *data) {
  pthread_cleanup_push(ended, data);
  run(data);
  pthread_cleanup_pop(0);
}
