/* The end of a thread of JavaScript, which may be a worker that is terminated: JavaScript does not run any more then,
 * but its memory is still there. */
#include <dlfcn.h>
#include <string.h>

#include "../internal.h"

#define MOST_HOOKS 4

int tn__javascript_thread_on_end(void (*hook)(void *data), void *data) {
  /* The hooks without data that this thread has added. Node aborts when a hook is added twice. */
  static _Thread_local void (*added[MOST_HOOKS])(void *data);
  size_t count = 0;
  for (; data == NULL && count < MOST_HOOKS && added[count] != NULL; count++)
    if (added[count] == hook) return 1;
  if (count == MOST_HOOKS) return 0;
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
  if (data == NULL) added[count] = hook;
  return 1;
}
