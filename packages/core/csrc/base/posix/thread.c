#include <pthread.h>
#include <unistd.h>

#include "../internal.h"

static void *enter(void *thread) {
  const tn__thread_t *mine = thread;
  mine->run(mine->data);
  return NULL;
}

int tn__thread_start(const tn__thread_t *thread) {
  pthread_t handle;
  if (pthread_create(&handle, NULL, enter, (void *)(uintptr_t)thread) != 0) return 0;
  pthread_detach(handle);
  return 1;
}

size_t tn__processor_count(void) {
  const long count = sysconf(_SC_NPROCESSORS_ONLN);
  return count < 1 ? 1 : (size_t)count;
}
