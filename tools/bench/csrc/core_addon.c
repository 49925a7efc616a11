/* A hand-written addon for native functions: what one would write to call them without Tenon. It checks its arguments as Tenon
 * does: their number, their types, and that integers are in range. */
#include "addon.h"

#include <stdlib.h>

#define LIMIT_32 2147483648.0
#define LIMIT_53 9007199254740992.0

/* Reads a whole number from `-limit` to `limit`. */
static bool read_integer(napi_env env, napi_value value, double limit, int64_t *out) {
  double number;
  if (napi_get_value_double(env, value, &number) != napi_ok || !(number >= -limit && number < limit)) return false;
  *out = (int64_t)number;
  return (double)*out == number;
}

/* Reads safe integers and bigints of 64 bits. */
static bool read_int64(napi_env env, const napi_value *values, size_t count, int64_t *out) {
  for (size_t i = 0; i < count; i++) {
    bool is_exact;
    if (read_integer(env, values[i], LIMIT_53, &out[i])) continue;
    if (napi_get_value_bigint_int64(env, values[i], &out[i], &is_exact) != napi_ok || !is_exact) return false;
  }
  return true;
}

/* Reads the addresses of Buffers. Null is the null pointer. */
static bool read_buffers(napi_env env, const napi_value *values, size_t count, void **out) {
  for (size_t i = 0; i < count; i++) {
    napi_valuetype type;
    if (napi_get_buffer_info(env, values[i], &out[i], NULL) == napi_ok) continue;
    if (napi_typeof(env, values[i], &type) != napi_ok || type != napi_null) return false;
    out[i] = NULL;
  }
  return true;
}

/* Declares `arguments` and the native function, which is the data of the JavaScript function. */
#define TARGET_ARGUMENTS(count, type)                                              \
  napi_value arguments[(count) + 1], result;                                       \
  void *data;                                                                      \
  do {                                                                             \
    size_t given = (count) + 1;                                                    \
    ADDON_CHECK(napi_get_cb_info(env, info, &given, arguments, NULL, &data));      \
    if (given != (count)) return addon_throw(env, "expected " #count " arguments"); \
  } while (0);                                                                     \
  type *const target = (type *)(uintptr_t)data

ADDON_FUNCTION(none) {
  typedef void function_t(void);
  TARGET_ARGUMENTS(0, function_t);
  (void)result;
  target();
  return NULL;
}

ADDON_FUNCTION(int32) {
  typedef int32_t function_t(int32_t);
  TARGET_ARGUMENTS(1, function_t);
  int64_t value;
  if (!read_integer(env, arguments[0], LIMIT_32, &value)) return addon_throw(env, "expected a whole number");
  ADDON_CHECK(napi_create_int32(env, target((int32_t)value), &result));
  return result;
}

ADDON_FUNCTION(doubles) {
  typedef double function_t(double, double);
  TARGET_ARGUMENTS(2, function_t);
  double a, b;
  ADDON_CHECK(napi_get_value_double(env, arguments[0], &a));
  ADDON_CHECK(napi_get_value_double(env, arguments[1], &b));
  ADDON_CHECK(napi_create_double(env, target(a, b), &result));
  return result;
}

ADDON_FUNCTION(threeInt64) {
  typedef int64_t function_t(int64_t, int64_t, int64_t);
  TARGET_ARGUMENTS(3, function_t);
  int64_t v[3];
  if (!read_int64(env, arguments, 3, v)) return addon_throw(env, "expected integers of 64 bits");
  ADDON_CHECK(napi_create_bigint_int64(env, target(v[0], v[1], v[2]), &result));
  return result;
}

ADDON_FUNCTION(fourInt64) {
  typedef int64_t function_t(int64_t, int64_t, int64_t, int64_t);
  TARGET_ARGUMENTS(4, function_t);
  int64_t v[4];
  if (!read_int64(env, arguments, 4, v)) return addon_throw(env, "expected integers of 64 bits");
  ADDON_CHECK(napi_create_bigint_int64(env, target(v[0], v[1], v[2], v[3]), &result));
  return result;
}

ADDON_FUNCTION(eightInt64) {
  typedef int64_t function_t(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t);
  TARGET_ARGUMENTS(8, function_t);
  int64_t v[8];
  if (!read_int64(env, arguments, 8, v)) return addon_throw(env, "expected integers of 64 bits");
  ADDON_CHECK(napi_create_bigint_int64(env, target(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]), &result));
  return result;
}

ADDON_FUNCTION(buffer) {
  typedef int32_t function_t(void *);
  TARGET_ARGUMENTS(1, function_t);
  void *memory;
  if (!read_buffers(env, arguments, 1, &memory)) return addon_throw(env, "expected a Buffer or null");
  ADDON_CHECK(napi_create_int32(env, target(memory), &result));
  return result;
}

ADDON_FUNCTION(bufferAndLength) {
  typedef int32_t function_t(void *, int64_t);
  TARGET_ARGUMENTS(2, function_t);
  void *memory;
  int64_t length;
  if (!read_buffers(env, arguments, 1, &memory)) return addon_throw(env, "expected a Buffer or null");
  if (!read_int64(env, arguments + 1, 1, &length)) return addon_throw(env, "expected an integer of 64 bits");
  ADDON_CHECK(napi_create_int32(env, target(memory, length), &result));
  return result;
}

ADDON_FUNCTION(twoBuffersAndLength) {
  typedef int32_t function_t(void *, void *, int64_t);
  TARGET_ARGUMENTS(3, function_t);
  void *memory[2];
  int64_t length;
  if (!read_buffers(env, arguments, 2, memory)) return addon_throw(env, "expected Buffers or null");
  if (!read_int64(env, arguments + 2, 1, &length)) return addon_throw(env, "expected an integer of 64 bits");
  ADDON_CHECK(napi_create_int32(env, target(memory[0], memory[1], length), &result));
  return result;
}

ADDON_FUNCTION(fourBuffers) {
  typedef int32_t function_t(void *, void *, void *, void *);
  TARGET_ARGUMENTS(4, function_t);
  void *memory[4];
  if (!read_buffers(env, arguments, 4, memory)) return addon_throw(env, "expected Buffers or null");
  ADDON_CHECK(napi_create_int32(env, target(memory[0], memory[1], memory[2], memory[3]), &result));
  return result;
}

/* The types of 4 and 16 parameters, and as many values of `v` from `at` on. */
#define TYPES_4 int64_t, int64_t, int64_t, int64_t
#define TYPES_16 TYPES_4, TYPES_4, TYPES_4, TYPES_4
#define VALUES_4(at) v[at], v[(at) + 1], v[(at) + 2], v[(at) + 3]
#define VALUES_16(at) VALUES_4(at), VALUES_4((at) + 4), VALUES_4((at) + 8), VALUES_4((at) + 12)

/* Calls a function with a power of two of integers, up to 64. */
ADDON_FUNCTION(integers) {
  enum { MOST = 64 };
  napi_value arguments[MOST], result;
  int64_t v[MOST];
  size_t given = MOST;
  void *data;
  int32_t sum;
  ADDON_CHECK(napi_get_cb_info(env, info, &given, arguments, NULL, &data));
  if (given > MOST || !read_int64(env, arguments, given, v)) return addon_throw(env, "expected integers of 64 bits");
  const uintptr_t to = (uintptr_t)data;
  switch (given) {
    case 1: sum = ((int32_t(*)(int64_t))to)(v[0]); break;
    case 2: sum = ((int32_t(*)(int64_t, int64_t))to)(v[0], v[1]); break;
    case 4: sum = ((int32_t(*)(TYPES_4))to)(VALUES_4(0)); break;
    case 8: sum = ((int32_t(*)(TYPES_4, TYPES_4))to)(VALUES_4(0), VALUES_4(4)); break;
    case 16: sum = ((int32_t(*)(TYPES_16))to)(VALUES_16(0)); break;
    case 32: sum = ((int32_t(*)(TYPES_16, TYPES_16))to)(VALUES_16(0), VALUES_16(16)); break;
    case 64:
      sum = ((int32_t(*)(TYPES_16, TYPES_16, TYPES_16, TYPES_16))to)(VALUES_16(0), VALUES_16(16), VALUES_16(32),
                                                                     VALUES_16(48));
      break;
    default: return addon_throw(env, "expected a power of two of arguments, at most 64");
  }
  ADDON_CHECK(napi_create_int32(env, sum, &result));
  return result;
}

/* A call on a thread of libuv. It owns a reference to the Buffer. */
typedef struct {
  int32_t (*target)(void *, int64_t);
  void *memory;
  int64_t length;
  int32_t result;
  napi_async_work work;
  napi_deferred promise;
  napi_ref buffer;
} later_t;

static void run_later(napi_env env, void *data) {
  later_t *call = data;
  (void)env;
  call->result = call->target(call->memory, call->length);
}

static void settle_later(napi_env env, napi_status status, void *data) {
  later_t *call = data;
  napi_value result = NULL;
  if (status == napi_ok && napi_create_int32(env, call->result, &result) == napi_ok)
    napi_resolve_deferred(env, call->promise, result);
  napi_delete_reference(env, call->buffer);
  napi_delete_async_work(env, call->work);
  free(call);
}

/* Calls a function with a Buffer and a length on another thread, and returns a promise. */
ADDON_FUNCTION(bufferAndLengthLater) {
  typedef int32_t function_t(void *, int64_t);
  TARGET_ARGUMENTS(2, function_t);
  napi_value name;
  later_t made = {.target = target};
  if (!read_buffers(env, arguments, 1, &made.memory)) return addon_throw(env, "expected a Buffer or null");
  if (!read_int64(env, arguments + 1, 1, &made.length)) return addon_throw(env, "expected an integer of 64 bits");
  later_t *call = malloc(sizeof *call);
  if (call == NULL) return addon_throw(env, "out of memory");
  *call = made;
  if (napi_create_reference(env, arguments[0], 1, &call->buffer) == napi_ok &&
      napi_create_promise(env, &call->promise, &result) == napi_ok &&
      napi_create_string_utf8(env, "later", NAPI_AUTO_LENGTH, &name) == napi_ok &&
      napi_create_async_work(env, NULL, name, run_later, settle_later, call, &call->work) == napi_ok &&
      napi_queue_async_work(env, call->work) == napi_ok)
    return result;
  free(call);
  return addon_throw(env, "cannot start the call");
}

/* The JavaScript function that native code calls. An exception ends its calls. */
typedef struct {
  napi_env env;
  napi_value function, receiver;
  bool has_thrown;
} script_t;

static _Thread_local script_t script;

static int32_t call_script(napi_value first, napi_value second) {
  napi_value arguments[2] = {first, second}, result;
  int32_t number;
  if (napi_call_function(script.env, script.receiver, script.function, 2, arguments, &result) == napi_ok &&
      napi_get_value_int32(script.env, result, &number) == napi_ok)
    return number;
  script.has_thrown = true;
  return 0;
}

static int32_t call_with_integers(int32_t a, int32_t b) {
  napi_handle_scope scope;
  napi_value first, second;
  if (script.has_thrown || napi_open_handle_scope(script.env, &scope) != napi_ok) return 0;
  napi_create_int32(script.env, a, &first);
  napi_create_int32(script.env, b, &second);
  const int32_t result = call_script(first, second);
  napi_close_handle_scope(script.env, scope);
  return result;
}

/* Passes the numbers to which the pointers point, because JavaScript cannot read native memory. */
static int32_t call_with_memory(const void *a, const void *b) {
  return call_with_integers(*(const int32_t *)a, *(const int32_t *)b);
}

/* Makes `function` the one that native code calls, until leave_script(). Returns false if it is not a function. */
static bool enter_script(napi_env env, napi_value function, script_t *outer) {
  napi_valuetype type;
  *outer = script;
  script = (script_t){env, function, NULL, false};
  return napi_typeof(env, function, &type) == napi_ok && type == napi_function &&
         napi_get_undefined(env, &script.receiver) == napi_ok;
}

static bool leave_script(const script_t *outer) {
  const bool has_thrown = script.has_thrown;
  script = *outer;
  return !has_thrown;
}

/* repeat(function, count): the function's address and the count are passed to the native function. */
ADDON_FUNCTION(repeat) {
  typedef int32_t function_t(int32_t (*)(int32_t, int32_t), int32_t);
  TARGET_ARGUMENTS(2, function_t);
  int64_t count;
  script_t outer;
  int32_t sum = 0;
  if (!read_integer(env, arguments[1], LIMIT_32, &count)) return addon_throw(env, "expected a whole number");
  const bool is_function = enter_script(env, arguments[0], &outer);
  if (is_function) sum = target(call_with_integers, (int32_t)count);
  if (!leave_script(&outer) || !is_function) return addon_throw(env, "expected a function that returns a number");
  ADDON_CHECK(napi_create_int32(env, sum, &result));
  return result;
}

/* sort(Buffer, function): sorts integers of 32 bits with qsort(). */
ADDON_FUNCTION(sort) {
  typedef void function_t(void *, size_t, size_t, int (*)(const void *, const void *));
  TARGET_ARGUMENTS(2, function_t);
  void *memory;
  size_t size;
  script_t outer;
  (void)result;
  ADDON_CHECK(napi_get_buffer_info(env, arguments[0], &memory, &size));
  const bool is_function = enter_script(env, arguments[1], &outer);
  if (is_function) target(memory, size / sizeof(int32_t), sizeof(int32_t), call_with_memory);
  if (!leave_script(&outer) || !is_function) return addon_throw(env, "expected a function that returns a number");
  return NULL;
}

/* bind(kind, address): a JavaScript function that calls the native function, which has the signature of the kind. */
ADDON_FUNCTION(bind) {
  static const napi_callback kinds[] = {none,       int32,  doubles,         threeInt64,          fourInt64,
                                        eightInt64, buffer, bufferAndLength, twoBuffersAndLength, fourBuffers,
                                        repeat,     sort,   integers,        bufferAndLengthLater};
  ADDON_ARGUMENTS(2);
  uint32_t kind;
  ADDON_CHECK(napi_get_value_uint32(env, arguments[0], &kind));
  void *address = addon_address(env, arguments[1]);
  if (address == NULL || kind >= sizeof kinds / sizeof kinds[0]) return addon_throw(env, "cannot bind");
  napi_value made;
  ADDON_CHECK(napi_create_function(env, NULL, 0, kinds[kind], address, &made));
  return made;
}

ADDON_EXPORTS(ADDON_EXPORT(bind))
