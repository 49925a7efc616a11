#include "../thread_exit.h"

void tn__run_to_end(void (*run)(void *data), void (*ended)(void *data), void *data) {
  (void)ended;
  run(data);
}
