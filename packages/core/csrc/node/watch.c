/* Watches of descriptors for the event loop. The thread of the core notices that a descriptor is readable, and a threadsafe function calls
 * JavaScript. Every runtime with Node-API has those, and only Node.js has libuv. */
#include "watch.h"

#if !defined(_WIN32)
#include <stdlib.h>

#include "node_buffer.h"
#include "tenon.h"

/* Freed by the runtime with its threadsafe function. */
typedef struct {
  napi_env env;
  napi_threadsafe_function caller;
  uint64_t id; /* of the core; 0 if it is not open */
} watch_t;

static void free_watch(napi_env env, void *watch, void *hint) {
  (void)env, (void)hint;
  free(watch);
}

/* On the thread of the core. */
static void when_readable(void *watch) {
  napi_call_threadsafe_function(((watch_t *)watch)->caller, NULL, napi_tsfn_nonblocking);
}

/* The hook of the environment, which ends. It runs before that of the threadsafe function, which is older. */
static void end_watch(void *data) {
  watch_t *watch = data;
  tn_watcher_remove(watch->id);
  watch->id = 0;
  napi_release_threadsafe_function(watch->caller, napi_tsfn_abort);
}

static void close_watch(watch_t *watch) {
  if (watch->id == 0) return;
  napi_remove_env_cleanup_hook(watch->env, end_watch, watch);
  end_watch(watch);
}

static void run(napi_env env, napi_value function, void *context, void *data) {
  (void)data;
  const watch_t *watch = context;
  napi_value global, ignored, error;
  if (env == NULL || watch->id == 0) return;
  /* Deno writes the result through its pointer, also if it is null. */
  if (napi_get_global(env, &global) == napi_ok &&
      napi_call_function(env, global, function, 0, NULL, &ignored) == napi_pending_exception &&
      napi_get_and_clear_last_exception(env, &error) == napi_ok)
    napi_fatal_exception(env, error);
  /* The function may have closed it. */
  if (watch->id != 0) tn_watcher_again(watch->id);
}

static napi_value refuse_watch(napi_env env, watch_t *watch, const char *message) {
  napi_release_threadsafe_function(watch->caller, napi_tsfn_abort);
  return refuse(env, message);
}

napi_value tn_node_make_watch(napi_env env, napi_callback_info info) {
  size_t count = 2;
  napi_value arguments[2], name, made;
  int32_t descriptor;
  if (napi_get_cb_info(env, info, &count, arguments, NULL, NULL) != napi_ok || count != 2 ||
      napi_get_value_int32(env, arguments[0], &descriptor) != napi_ok ||
      napi_create_string_utf8(env, "tenon.watch", NAPI_AUTO_LENGTH, &name) != napi_ok)
    return refuse(env, "watch() must get a descriptor and a function");
  watch_t *watch = calloc(1, sizeof *watch);
  if (watch == NULL) return refuse(env, "out of memory: cannot allocate a watch");
  watch->env = env;
  if (napi_create_threadsafe_function(env, arguments[1], NULL, name, 0, 1, NULL, free_watch, watch, run,
                                      &watch->caller) != napi_ok) {
    free(watch);
    return refuse(env, "the engine refuses the watch");
  }
  napi_unref_threadsafe_function(env, watch->caller);
  if (napi_create_external(env, watch, NULL, NULL, &made) != napi_ok)
    return refuse_watch(env, watch, "the engine refuses the watch");
  if (tn_watcher_add(descriptor, when_readable, watch, &watch->id) != TN_OK)
    return refuse_watch(env, watch, tn_last_error());
  napi_add_env_cleanup_hook(env, end_watch, watch);
  return made;
}

napi_value tn_node_set_watch(napi_env env, napi_callback_info info) {
  size_t count = 2;
  napi_value arguments[2];
  void *data;
  uint32_t state;
  if (napi_get_cb_info(env, info, &count, arguments, NULL, NULL) != napi_ok || count != 2 ||
      napi_get_value_external(env, arguments[0], &data) != napi_ok ||
      napi_get_value_uint32(env, arguments[1], &state) != napi_ok)
    return refuse(env, "setWatch() must get a watch and a state");
  watch_t *watch = data;
  if (state == 0) close_watch(watch);
  else (state == 1 ? napi_ref_threadsafe_function : napi_unref_threadsafe_function)(env, watch->caller);
  return NULL;
}
#endif
