/* The common part of the hand-written addons, which are the peers that a user would write without Tenon in plain Node-API.
 *
 * An addon is one C file of this directory, a row of native.targets.ts, and `loadAddon('<name>')` in a bench file. It exports
 * functions with ADDON_EXPORTS() and receives the addresses of kernels as numbers, so it links with nothing. It may be as fast
 * as possible, but must check its arguments. */
#ifndef TENON_BENCH_ADDON_H
#define TENON_BENCH_ADDON_H

#define NAPI_VERSION 8
#include <node_api.h>
#include <stddef.h>
#include <stdint.h>

/* A function of the addon: `static napi_value name(napi_env env, napi_callback_info info)`. */
#define ADDON_FUNCTION(name) static napi_value name(napi_env env, napi_callback_info info)

/* Throws a JavaScript exception if a Node-API call fails. */
#define ADDON_CHECK(call)                                       \
  do {                                                          \
    if ((call) != napi_ok) return addon_throw(env, #call " failed"); \
  } while (0)

/* Declares `napi_value arguments[count]`, filled from `info`. */
#define ADDON_ARGUMENTS(count)                                                         \
  napi_value arguments[count];                                                         \
  do {                                                                                 \
    size_t given = (count);                                                            \
    ADDON_CHECK(napi_get_cb_info(env, info, &given, arguments, NULL, NULL));           \
    if (given != (count)) return addon_throw(env, "expected " #count " argument(s)");  \
  } while (0)

static inline napi_value addon_throw(napi_env env, const char *message) {
  bool pending = false;
  /* An exception of a JavaScript function is passed on. */
  if (napi_is_exception_pending(env, &pending) == napi_ok && !pending) napi_throw_error(env, NULL, message);
  return NULL;
}

/* Returns the address in a number, or throws and returns null. */
static inline void *addon_address(napi_env env, napi_value value) {
  double number = 0;
  if (napi_get_value_double(env, value, &number) == napi_ok && number >= 1 && number < 9007199254740992.0)
    return (void *)(uintptr_t)number;
  addon_throw(env, "expected an address");
  return NULL;
}

/* Returns the memory of a typed array of `type` with at least `length` elements, or throws and returns null. */
static inline void *addon_elements(napi_env env, napi_value value, napi_typedarray_type type, size_t length) {
  napi_typedarray_type actual;
  size_t count = 0;
  void *data = NULL;
  if (napi_get_typedarray_info(env, value, &actual, &count, &data, NULL, NULL) == napi_ok && actual == type && count >= length)
    return data;
  addon_throw(env, "expected a typed array of another type or length");
  return NULL;
}

/* Turns `{ name, function }` pairs into properties of the exports. Defines the entry of the addon. */
#define ADDON_EXPORTS(...)                                                                          \
  NAPI_MODULE_INIT() {                                                                              \
    const napi_property_descriptor members[] = {__VA_ARGS__};                                       \
    ADDON_CHECK(napi_define_properties(env, exports, sizeof members / sizeof members[0], members)); \
    return exports;                                                                                 \
  }
#define ADDON_EXPORT(name) {#name, NULL, name, NULL, NULL, NULL, napi_enumerable, NULL}

#endif
