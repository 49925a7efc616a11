/* The end of a thread of JavaScript: asynchronous calls, which have to know it, are not supported on Windows. */
#include "../internal.h"

int tn__environment_on_end(void (*hook)(void *data), void *data) {
  (void)hook, (void)data;
  return 0;
}
