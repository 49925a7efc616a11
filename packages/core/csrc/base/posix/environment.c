/* The end of a thread of JavaScript, also of a worker that is terminated: no JavaScript runs then any more, but its memory
 * is still there. */
#include <dlfcn.h>
#include <string.h>

#include "../internal.h"

/* Node tells it through two functions of C++, for which the driver has no door: they are found by their names. */
int tn__environment_on_end(void (*hook)(void *data), void *data) {
  void *(*current_isolate)(void);
  void (*add_hook)(void *isolate, void (*hook)(void *), void *data);
  void *found[] = {dlsym(RTLD_DEFAULT, "_ZN2v87Isolate10GetCurrentEv"),
                   dlsym(RTLD_DEFAULT, "_ZN4node25AddEnvironmentCleanupHookEPN2v87IsolateEPFvPvES3_")};
  if (found[0] == NULL || found[1] == NULL) return 0;
  memcpy(&current_isolate, &found[0], sizeof current_isolate);
  memcpy(&add_hook, &found[1], sizeof add_hook);
  void *isolate = current_isolate();
  if (isolate == NULL) return 0;
  add_hook(isolate, hook, data);
  return 1;
}
