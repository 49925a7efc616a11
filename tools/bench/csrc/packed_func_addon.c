/* A hand-written addon for packed functions: what one would write to call them without Tenon. */
#include "addon.h"

#include <stdlib.h>
#include <tenon/tvm_ffi.h>

enum { LIMIT = 4, TEXT_SIZE = 256 };

typedef int call_function_t(TVMFFIObjectHandle function, TVMFFIAny *args, int32_t count, TVMFFIAny *result);
typedef int create_function_t(void *self, TVMFFISafeCallType call, void (*deleter)(void *), TVMFFIObjectHandle *out);

typedef struct {
  call_function_t *call;
  TVMFFIObjectHandle function;
} target_t;

/* An argument by its JavaScript type: numbers, text, and objects as externals. */
static bool read_argument(napi_env env, napi_value value, TVMFFIAny *out, char text[TEXT_SIZE]) {
  napi_valuetype type;
  if (napi_typeof(env, value, &type) != napi_ok) return false;
  *out = (TVMFFIAny){.type_index = kTVMFFINone};
  if (type == napi_number) {
    double number;
    if (napi_get_value_double(env, value, &number) != napi_ok) return false;
    out->type_index = number == (double)(int64_t)number ? kTVMFFIInt : kTVMFFIFloat;
    if (out->type_index == kTVMFFIInt) {
      out->v_int64 = (int64_t)number;
    } else {
      out->v_float64 = number;
    }
    return true;
  }
  if (type == napi_string) {
    size_t size;
    out->type_index = kTVMFFIRawStr;
    out->v_c_str = text;
    return napi_get_value_string_utf8(env, value, text, TEXT_SIZE, &size) == napi_ok && size < TEXT_SIZE - 1;
  }
  if (type != napi_external) return false;
  void *object;
  if (napi_get_value_external(env, value, &object) != napi_ok) return false;
  out->type_index = ((TVMFFIObject *)object)->type_index;
  out->v_obj = object;
  return true;
}

/* The function that bind() makes. */
ADDON_FUNCTION(call) {
  napi_value arguments[LIMIT], value = NULL;
  size_t count = LIMIT;
  void *data;
  ADDON_CHECK(napi_get_cb_info(env, info, &count, arguments, NULL, &data));
  if (count > LIMIT) return addon_throw(env, "too many arguments");
  TVMFFIAny args[LIMIT], result = {.type_index = kTVMFFINone};
  char texts[LIMIT][TEXT_SIZE];
  for (size_t i = 0; i < count; i++)
    if (!read_argument(env, arguments[i], &args[i], texts[i])) return addon_throw(env, "an argument of another type");
  const target_t *target = data;
  if (target->call(target->function, args, (int32_t)count, &result) != 0) return addon_throw(env, "the function failed");
  if (result.type_index == kTVMFFIInt) ADDON_CHECK(napi_create_int64(env, result.v_int64, &value));
  return value;
}

/* bind(TVMFFIFunctionCall, function): a JavaScript function that calls it. For as long as the process runs. */
ADDON_FUNCTION(bind) {
  ADDON_ARGUMENTS(2);
  void *address = addon_address(env, arguments[0]), *function = addon_address(env, arguments[1]);
  target_t *target = malloc(sizeof *target);
  if (address == NULL || function == NULL || target == NULL) return addon_throw(env, "can't bind");
  *target = (target_t){(call_function_t *)(uintptr_t)address, function};
  napi_value made;
  ADDON_CHECK(napi_create_function(env, NULL, 0, call, target, &made));
  return made;
}

/* objectAt(address): an object of tvm-ffi as an argument of bound functions. The caller keeps it. */
ADDON_FUNCTION(objectAt) {
  ADDON_ARGUMENTS(1);
  void *address = addon_address(env, arguments[0]);
  if (address == NULL) return NULL;
  napi_value made;
  ADDON_CHECK(napi_create_external(env, address, NULL, NULL, &made));
  return made;
}

/* --- A JavaScript function that native code calls --------------------------------------------------------------------- */

static napi_env callback_env;
static napi_ref callback;

static int call_back(void *self, const TVMFFIAny *args, int32_t count, TVMFFIAny *result) {
  (void)self;
  napi_handle_scope scope;
  napi_value function, receiver, argument, value;
  bool is_done = count == 1 && napi_open_handle_scope(callback_env, &scope) == napi_ok;
  if (!is_done) return -1;
  is_done = napi_get_reference_value(callback_env, callback, &function) == napi_ok &&
            napi_get_undefined(callback_env, &receiver) == napi_ok &&
            napi_create_int64(callback_env, args[0].v_int64, &argument) == napi_ok &&
            napi_call_function(callback_env, receiver, function, 1, &argument, &value) == napi_ok &&
            napi_get_value_int64(callback_env, value, &result->v_int64) == napi_ok;
  result->type_index = kTVMFFIInt;
  napi_close_handle_scope(callback_env, scope);
  return is_done ? 0 : -1;
}

/* makeCallback(TVMFFIFunctionCreate, function): a packed function of a JavaScript one, as objectAt() gives it. One for a process. */
ADDON_FUNCTION(makeCallback) {
  ADDON_ARGUMENTS(2);
  void *address = addon_address(env, arguments[0]);
  if (address == NULL) return NULL;
  callback_env = env;
  ADDON_CHECK(napi_create_reference(env, arguments[1], 1, &callback));
  TVMFFIObjectHandle function;
  if (((create_function_t *)(uintptr_t)address)(NULL, call_back, NULL, &function) != 0) return addon_throw(env, "no function");
  napi_value made;
  ADDON_CHECK(napi_create_external(env, function, NULL, NULL, &made));
  return made;
}

ADDON_EXPORTS(ADDON_EXPORT(bind), ADDON_EXPORT(objectAt), ADDON_EXPORT(makeCallback))
