/* The end of a thread of JavaScript. Only asynchronous calls need it, and Windows does not support them. */
#include "../internal.h"

int tn__environment_on_end(void (*hook)(void *data), void *data) {
  (void)hook, (void)data;
  return 0;
}
