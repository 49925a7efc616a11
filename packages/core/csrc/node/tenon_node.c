/* The Node-API module: the way between the engine and the core. Each environment of Node.js opens one driver. Only the
 * thread of the environment runs these functions, except for wake(). */
#include <node_api.h>
#include <stdlib.h>
#include <string.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "node_buffer.h"
#include "node_texts.h"
#include "tenon_call.h"
#include "watch.h"

typedef struct {
  napi_env env;
  napi_ref frame;    /* keeps the memory of the frame */
  napi_ref dispatch; /* the function of TypeScript that runs what the frame selects */
  napi_ref thrown;   /* an exception that TypeScript could not catch, until a call returns; or null */
  napi_threadsafe_function waker;
  tn_environment_t *environment;
  tn_call_frame_t *memory; /* of the frame */
  /* Shared by the upcalls of the innermost call. The first ones leave their handles in the scope of the call, and later
   * ones in a scope of their own, which is null until then. */
  struct {
    napi_handle_scope handles;
    napi_value function, nothing;
    uint32_t uses;
  } upcalls;
} driver_t;

/* The number of upcalls that share a scope, because each leaves a handle in it. */
#define MOST_USES 64

/* Each call reads this variable. The model is safe in this small library: the loader always has room for a pointer. */
#if defined(__GLIBC__)
__attribute__((tls_model("initial-exec")))
#endif
static _Thread_local driver_t *driver;

/* Throws an exception that was kept while native code was running. */
static void throw_kept(napi_env env) {
  napi_value error;
  if (napi_get_reference_value(env, driver->thrown, &error) == napi_ok) napi_throw(env, error);
  napi_delete_reference(env, driver->thrown);
  driver->thrown = NULL;
}

static void close_upcalls(driver_t *mine) {
  mine->upcalls.uses = 0;
  if (mine->upcalls.handles == NULL) return;
  napi_close_handle_scope(mine->env, mine->upcalls.handles);
  mine->upcalls.handles = NULL;
}

static inline void call_environment(driver_t *mine, int32_t (*entry)(tn_call_frame_t *frame)) {
  if (entry == NULL)
    tn_environment_enter(mine->environment);
  else
    tn_environment_run(mine->environment, entry);
}

/* The call has upcalls of its own, in the scope of its function. */
static void call_in_upcall(driver_t *mine, int32_t (*entry)(tn_call_frame_t *frame)) {
  const __typeof__(mine->upcalls) outer = mine->upcalls;
  mine->upcalls.handles = NULL;
  mine->upcalls.uses = 0;
  call_environment(mine, entry);
  if (mine->upcalls.uses != 0) close_upcalls(mine);
  mine->upcalls = outer;
}

/* Performs the call of the frame, or calls `entry` if it is not null. */
static inline void call_native(int32_t (*entry)(tn_call_frame_t *frame)) {
  driver_t *mine = driver;
  if (mine->upcalls.uses != 0) {
    call_in_upcall(mine, entry);
  } else {
    call_environment(mine, entry);
    if (mine->upcalls.uses != 0) close_upcalls(mine);
  }
  if (mine->thrown != NULL) throw_kept(mine->env);
}

static napi_value enter(napi_env env, napi_callback_info info) {
  (void)env, (void)info;
  call_native(NULL);
  return NULL;
}

/* Keeps an exception that the dispatcher did not catch: the stack was full. Without one, JavaScript is ending. */
static int32_t keep_exception(napi_env env) {
  napi_value error;
  napi_valuetype type;
  if (napi_get_and_clear_last_exception(env, &error) != napi_ok || napi_typeof(env, error, &type) != napi_ok ||
      type != napi_object)
    return 2;
  if (driver->thrown == NULL) napi_create_reference(env, error, 1, &driver->thrown);
  return 1;
}

/* Gets the handles that a call of the dispatcher needs. */
static bool open_upcalls(driver_t *mine) {
  mine->upcalls.uses = 1;
  if (napi_get_reference_value(mine->env, mine->dispatch, &mine->upcalls.function) == napi_ok &&
      napi_get_undefined(mine->env, &mine->upcalls.nothing) == napi_ok)
    return true;
  close_upcalls(mine);
  return false;
}

/* Runs the dispatcher for a caller that is no call of this module: the event loop, or another addon. */
static int32_t dispatch_alone(const driver_t *mine) {
  const napi_env env = mine->env;
  napi_handle_scope handles;
  napi_value function, nothing, error;
  napi_valuetype type;
  if (napi_open_handle_scope(env, &handles) != napi_ok) return 2;
  int32_t result = 2;
  if (napi_get_reference_value(env, mine->dispatch, &function) == napi_ok &&
      napi_get_undefined(env, &nothing) == napi_ok) {
    const napi_status status = napi_call_function(env, nothing, function, 0, NULL, NULL);
    if (status == napi_ok) {
      result = 0;
    } else if (status == napi_pending_exception && napi_get_and_clear_last_exception(env, &error) == napi_ok &&
               napi_typeof(env, error, &type) == napi_ok && type == napi_object) {
      /* No call can throw it. */
      napi_fatal_exception(env, error);
      result = 1;
    }
  }
  napi_close_handle_scope(env, handles);
  return result;
}

static int32_t dispatch(void *data, int32_t is_in_call) {
  driver_t *mine = data;
  if (!is_in_call) return dispatch_alone(mine);
  if (mine->upcalls.uses == MOST_USES) {
    close_upcalls(mine);
    if (napi_open_handle_scope(mine->env, &mine->upcalls.handles) != napi_ok) return 2;
  }
  if (mine->upcalls.uses == 0) {
    if (!open_upcalls(mine)) return 2;
  } else {
    mine->upcalls.uses++;
  }
  const napi_status status =
      napi_call_function(mine->env, mine->upcalls.nothing, mine->upcalls.function, 0, NULL, NULL);
  return status == napi_ok ? 0 : status == napi_pending_exception ? keep_exception(mine->env) : 2;
}

static void wake(void *data) {
  napi_call_threadsafe_function(((driver_t *)data)->waker, NULL, napi_tsfn_nonblocking);
}

static void serve(napi_env env, napi_value function, void *context, void *data) {
  (void)function, (void)context, (void)data;
  if (env == NULL || driver == NULL || !tn_environment_serve()) return;
  /* A threadsafe function that is called here would run before the timers of the event loop. */
  driver->memory->state = TN_FUNCTION_SERVE_LATER;
  dispatch_alone(driver);
}

/* serve(): runs what other threads have left. */
static napi_value serve_again(napi_env env, napi_callback_info info) {
  (void)info;
  serve(env, NULL, NULL, NULL);
  return NULL;
}

/* The environment of Node.js ends. Its memory is still there, but no JavaScript runs any more. */
static void end(void *data) {
  driver_t *mine = data;
  tn_environment_close();
  napi_release_threadsafe_function(mine->waker, napi_tsfn_abort);
  driver = NULL;
  free(mine);
}

/* open(frame: ArrayBuffer, dispatch: () => void, abiVersion: number) */
static napi_value open_driver(napi_env env, napi_callback_info info) {
  size_t count = 3, size;
  napi_value arguments[3], name;
  void *frame;
  uint32_t version;
  if (napi_get_cb_info(env, info, &count, arguments, NULL, NULL) != napi_ok || count != 3 ||
      napi_get_arraybuffer_info(env, arguments[0], &frame, &size) != napi_ok || size != TN_CALL_FRAME_SIZE ||
      napi_get_value_uint32(env, arguments[2], &version) != napi_ok)
    return refuse(env, "open() must get a frame, a function and a version");
  if (version != TN_ABI_VERSION || version != tn_abi_version())
    return refuse(env, "tenon.node, libtenon and @tenon/core must have the same version");
  if (driver != NULL) return refuse(env, "this thread has a driver already");
  driver_t *made = calloc(1, sizeof *made);
  if (made == NULL) return refuse(env, "out of memory");
  made->env = env;
  if (napi_create_string_utf8(env, "tenon", NAPI_AUTO_LENGTH, &name) == napi_ok &&
      napi_create_threadsafe_function(env, NULL, NULL, name, 0, 1, NULL, NULL, NULL, serve, &made->waker) == napi_ok) {
    napi_unref_threadsafe_function(env, made->waker);
    if (napi_create_reference(env, arguments[0], 1, &made->frame) == napi_ok &&
        napi_create_reference(env, arguments[1], 1, &made->dispatch) == napi_ok &&
        tn_environment_open(frame, &(tn_driver_t){made, dispatch, wake}) == TN_OK) {
      made->environment = tn_environment_current();
      made->memory = frame;
      driver = made;
      napi_add_env_cleanup_hook(env, end, made);
      return NULL;
    }
    napi_release_threadsafe_function(made->waker, napi_tsfn_abort);
  }
  free(made);
  return refuse(env, tn_last_error());
}

/* keepAlive(wanted: boolean): whether the event loop goes on. */
static napi_value keep_alive(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value argument;
  bool wanted = false;
  if (driver == NULL || napi_get_cb_info(env, info, &count, &argument, NULL, NULL) != napi_ok || count != 1 ||
      napi_get_value_bool(env, argument, &wanted) != napi_ok)
    return refuse(env, "keepAlive() must get true or false, after open()");
  (wanted ? napi_ref_threadsafe_function : napi_unref_threadsafe_function)(env, driver->waker);
  return NULL;
}

/* address(memory: ArrayBuffer | ArrayBufferView): number. Undefined for shared memory, of which a view must be passed. */
static napi_value address_of(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value memory, made;
  void *data = NULL;
  if (napi_get_cb_info(env, info, &count, &memory, NULL, NULL) != napi_ok) return NULL;
  if (napi_get_typedarray_info(env, memory, NULL, NULL, &data, NULL, NULL) != napi_ok &&
      napi_get_arraybuffer_info(env, memory, &data, NULL) != napi_ok &&
      napi_get_dataview_info(env, memory, NULL, &data, NULL, NULL) != napi_ok)
    return NULL;
  return napi_create_double(env, (double)(uintptr_t)data, &made) == napi_ok ? made : NULL;
}

static napi_value perform(napi_env env, napi_callback_info info) {
  void *frame;
  if (napi_get_cb_info(env, info, NULL, NULL, NULL, &frame) == napi_ok) tn_call_perform(frame);
  return NULL;
}

/* caller(frame: ArrayBuffer): () => void. It calls the function of the core that the frame describes, and does not keep the
 * frame. It needs no open driver, so the functions can be called before one is open, and while the frame of the driver is being
 * written. */
static napi_value make_caller(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value buffer, made;
  void *frame;
  if (napi_get_cb_info(env, info, &count, &buffer, NULL, NULL) != napi_ok ||
      napi_get_arraybuffer_info(env, buffer, &frame, NULL) != napi_ok)
    return refuse(env, "caller() must get a frame");
  return napi_create_function(env, NULL, 0, perform, frame, &made) == napi_ok ? made : NULL;
}

/* Entries. Each has C functions of its own, because reading the data of a function costs more than its call. */
#define ENTRIES 5
static int32_t (*entries[ENTRIES])(tn_call_frame_t *frame);

/* Writes a string in UTF-8, with its terminator, to the memory at `integers[1]` of the frame, which has `integers[2]` bytes.
 * Returns false if it does not fit or has U+0000. */
static bool write_text(napi_env env, napi_value text, const tn_call_frame_t *frame) {
  char *memory = (char *)(uintptr_t)frame->integers[1];
  const size_t capacity = frame->integers[2];
  size_t size;
  return napi_get_value_string_utf8(env, text, memory, capacity, &size) == napi_ok && size < capacity - 1 &&
         memchr(memory, 0, size) == NULL;
}

/* Makes the text that an entry has left: its address and size are the results of the frame, and the address is null if there is none. */
static inline napi_value text_of_entry(napi_env env) {
  const tn_call_frame_t *frame = driver->memory;
  if (frame->state != TN_CALL_RETURNED || frame->results[0] == 0) return NULL;
  napi_value made;
  const char *text = (const char *)(uintptr_t)frame->results[0];
  return napi_create_string_utf8(env, text, frame->results[1], &made) == napi_ok ? made : NULL;
}

/* Calls an entry with a string: reading it here takes a third of the time that the engine's encoder takes in JavaScript. */
static inline napi_value call_with_text(napi_env env, napi_callback_info info, int32_t (*entry)(tn_call_frame_t *frame)) {
  size_t count = 1;
  napi_value text;
  if (napi_get_cb_info(env, info, &count, &text, NULL, NULL) != napi_ok || !write_text(env, text, driver->memory)) {
    driver->memory->state = TN_CALL_NOT_MADE;
    return NULL;
  }
  call_native(entry);
  return text_of_entry(env);
}

/* What an entry takes and returns in JavaScript. */
enum { PLAIN, RETURNS_TEXT, TAKES_AND_RETURNS_TEXT, ENTRY_KINDS };

#define ENTRY(index)                                                                \
  static napi_value entry##index(napi_env env, napi_callback_info info) {           \
    (void)env, (void)info;                                                          \
    call_native(entries[index]);                                                    \
    return NULL;                                                                    \
  }                                                                                 \
  static napi_value text_of_entry##index(napi_env env, napi_callback_info info) {   \
    (void)info;                                                                     \
    call_native(entries[index]);                                                    \
    return text_of_entry(env);                                                      \
  }                                                                                 \
  static napi_value entry_with_text##index(napi_env env, napi_callback_info info) { \
    return call_with_text(env, info, entries[index]);                               \
  }
ENTRY(0)
ENTRY(1)
ENTRY(2)
ENTRY(3)
ENTRY(4)
#define FUNCTIONS(index) {entry##index, text_of_entry##index, entry_with_text##index}
static const napi_callback entry_functions[ENTRIES][ENTRY_KINDS] = {FUNCTIONS(0), FUNCTIONS(1), FUNCTIONS(2), FUNCTIONS(3),
                                                                    FUNCTIONS(4)};

/* enterWithTexts(...strings): performs the call of the frame with strings as arguments, which are written in UTF-8. Their copies end with
 * the call, so a text that the function returns, which may be in one of them, is made here. */
static napi_value enter_with_texts(napi_env env, napi_callback_info info) {
  size_t count = TN_CALL_MOST_TEXTS;
  napi_value strings[TN_CALL_MOST_TEXTS], made = NULL;
  tn_call_frame_t *frame = driver->memory;
  text_plan_t plan;
  texts_t texts;
  memcpy(&plan, frame->vector_results, sizeof plan);
  const bool has_strings = napi_get_cb_info(env, info, &count, strings, NULL, NULL) == napi_ok && plan.count <= count;
  if (tn_node_open_texts(env, &texts, has_strings ? strings : NULL, &plan, frame)) {
    call_native(NULL);
    if (plan.returns_text && frame->state == TN_CALL_RETURNED) made = tn_node_returned_text(env, frame->results[0]);
  } else {
    frame->state = TN_CALL_NOT_MADE;
  }
  tn_node_close_texts(&texts);
  return made;
}

/* entry(index: number, address: bigint, takesText: boolean, returnsText: boolean): a function that calls the entry. One that takes a
 * text returns one. The same index always has the same address. */
static napi_value make_entry(napi_env env, napi_callback_info info) {
  size_t count = 4;
  napi_value arguments[4], made;
  uint32_t index;
  uint64_t address;
  bool is_exact, takes_text, returns_text;
  if (napi_get_cb_info(env, info, &count, arguments, NULL, NULL) != napi_ok || count != 4 ||
      napi_get_value_uint32(env, arguments[0], &index) != napi_ok || index >= ENTRIES ||
      napi_get_value_bigint_uint64(env, arguments[1], &address, &is_exact) != napi_ok ||
      napi_get_value_bool(env, arguments[2], &takes_text) != napi_ok ||
      napi_get_value_bool(env, arguments[3], &returns_text) != napi_ok)
    return refuse(env, "entry() must get an index, an address, and true or false twice");
  __atomic_store_n((uintptr_t *)&entries[index], (uintptr_t)address, __ATOMIC_RELEASE);
  const int kind = takes_text ? TAKES_AND_RETURNS_TEXT : returns_text ? RETURNS_TEXT : PLAIN;
  return napi_create_function(env, NULL, 0, entry_functions[index][kind], NULL, &made) == napi_ok ? made : NULL;
}

/* 1 on the first thread of the process, on which Node.js runs the main thread of JavaScript, and 0 on other threads. -1 if
 * the system does not tell. */
static double is_first_thread(void) {
#if defined(__linux__)
  return syscall(SYS_gettid) == getpid();
#else
  return -1;
#endif
}

/* The version of the core, where JavaScript finds all other functions, and the thread. */
static bool set_numbers(napi_env env, napi_value exports) {
  const struct {
    const char *name;
    double value;
  } numbers[] = {
      {"abiVersion", tn_abi_version()},
      {"openCore", (double)(uintptr_t)tn_library_open_core},
      {"findSymbol", (double)(uintptr_t)tn_library_symbol},
      {"isFirstThread", is_first_thread()},
  };
  napi_value number;
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    if (napi_create_double(env, numbers[i].value, &number) != napi_ok ||
        napi_set_named_property(env, exports, numbers[i].name, number) != napi_ok)
      return false;
  }
  return true;
}

#define METHOD(name, function) {name, NULL, function, NULL, NULL, NULL, napi_default, NULL}

NAPI_MODULE_INIT() {
  const napi_property_descriptor properties[] = {
      METHOD("caller", make_caller),
      METHOD("address", address_of),
      METHOD("text", tn_node_copy_text),
      METHOD("boundedText", tn_node_copy_bounded_text),
      METHOD("buffer", tn_node_make_buffer),
      METHOD("parts", tn_node_count_parts),
#if !defined(_WIN32)
      METHOD("sharedBuffer", tn_node_make_shared_buffer),
      METHOD("openRange", tn_node_open_range),
      METHOD("rangeBuffer", tn_node_range_buffer),
      METHOD("closeRange", tn_node_close_range),
      METHOD("watch", tn_node_make_watch),
      METHOD("setWatch", tn_node_set_watch),
#endif
      METHOD("open", open_driver),
      METHOD("enter", enter),
      METHOD("enterWithTexts", enter_with_texts),
      METHOD("entry", make_entry),
      METHOD("serve", serve_again),
      METHOD("keepAlive", keep_alive),
  };
  if (napi_define_properties(env, exports, sizeof properties / sizeof *properties, properties) != napi_ok ||
      !set_numbers(env, exports))
    return NULL;
  return exports;
}
