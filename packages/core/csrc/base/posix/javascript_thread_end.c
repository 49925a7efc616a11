/* The end of a thread of JavaScript, which may be a worker that is terminated: JavaScript does not run any more then,
 * but its memory is still there. */
#include <dlfcn.h>
#include <string.h>

#include "base/status.h"
#include "base/thread.h"

int tn__javascript_thread_on_end(void (*hook)(void *data), void *data) {
  /* Node offers this to C++ only, so the two functions are looked up by their mangled names. */
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
