/* A hand-written addon for native functions: what one would write to call them without Tenon. It checks its arguments as Tenon
 * does: their number, their types, and that integers are in range. */
#include "addon.h"

/* Checks an integer of at most 53 bits. */
static bool read_integer(napi_env env, napi_value value, double limit, int64_t *out) {
  double number;
  if (napi_get_value_double(env, value, &number) != napi_ok || !(number >= -limit && number < limit)) return false;
  *out = (int64_t)number;
  return (double)*out == number;
}

static bool read_integers(napi_env env, const napi_value *values, size_t count, double limit, int64_t *out) {
  for (size_t i = 0; i < count; i++)
    if (!read_integer(env, values[i], limit, &out[i])) return false;
  return true;
}

#define LIMIT_32 2147483648.0
#define LIMIT_53 9007199254740992.0

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

ADDON_FUNCTION(fourInt64) {
  typedef int64_t function_t(int64_t, int64_t, int64_t, int64_t);
  TARGET_ARGUMENTS(4, function_t);
  int64_t v[4];
  if (!read_integers(env, arguments, 4, LIMIT_53, v)) return addon_throw(env, "expected whole numbers");
  ADDON_CHECK(napi_create_bigint_int64(env, target(v[0], v[1], v[2], v[3]), &result));
  return result;
}

ADDON_FUNCTION(eightInt64) {
  typedef int64_t function_t(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t);
  TARGET_ARGUMENTS(8, function_t);
  int64_t v[8];
  if (!read_integers(env, arguments, 8, LIMIT_53, v)) return addon_throw(env, "expected whole numbers");
  ADDON_CHECK(napi_create_bigint_int64(env, target(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]), &result));
  return result;
}

ADDON_FUNCTION(buffer) {
  typedef int32_t function_t(void *);
  TARGET_ARGUMENTS(1, function_t);
  void *memory;
  ADDON_CHECK(napi_get_buffer_info(env, arguments[0], &memory, NULL));
  ADDON_CHECK(napi_create_int32(env, target(memory), &result));
  return result;
}

ADDON_FUNCTION(fourBuffers) {
  typedef int32_t function_t(void *, void *, void *, void *);
  TARGET_ARGUMENTS(4, function_t);
  void *memory[4];
  for (int i = 0; i < 4; i++) ADDON_CHECK(napi_get_buffer_info(env, arguments[i], &memory[i], NULL));
  ADDON_CHECK(napi_create_int32(env, target(memory[0], memory[1], memory[2], memory[3]), &result));
  return result;
}

/* bind(kind, address): a JavaScript function that calls the native function, which has the signature of the kind. */
ADDON_FUNCTION(bind) {
  static const napi_callback kinds[] = {none, int32, doubles, fourInt64, eightInt64, buffer, fourBuffers};
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
