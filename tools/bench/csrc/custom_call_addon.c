/* A hand-written addon for one kernel each: what one would write to call weighted_sum and increment without Tenon. */
#include "addon.h"

#include <tenon/xla_ffi.h>

/* --- A typed handler: three operands, a result, f32[1] each, and four s32 attributes ------------------------------- */

enum { OPERANDS = 3, BUFFERS = 4, ATTRIBUTES = 4 };

static tn_xla_handler_t *handler;
static int64_t one = 1;
static tn_xla_buffer_t buffers[BUFFERS];
static int32_t buffer_types[BUFFERS] = {TN_XLA_BUFFER, TN_XLA_BUFFER, TN_XLA_BUFFER, TN_XLA_BUFFER};
static void *buffer_pointers[BUFFERS] = {&buffers[0], &buffers[1], &buffers[2], &buffers[3]};
static int32_t weights[ATTRIBUTES];
static tn_xla_scalar_t scalars[ATTRIBUTES];
static tn_xla_span_t names[ATTRIBUTES] = {{"w0", 2}, {"w1", 2}, {"w2", 2}, {"w3", 2}};
static int32_t attribute_types[ATTRIBUTES] = {TN_XLA_SCALAR, TN_XLA_SCALAR, TN_XLA_SCALAR, TN_XLA_SCALAR};
static tn_xla_span_t *attribute_names[ATTRIBUTES] = {&names[0], &names[1], &names[2], &names[3]};
static void *attribute_values[ATTRIBUTES] = {&scalars[0], &scalars[1], &scalars[2], &scalars[3]};
static tn_xla_call_frame_t frame;

/* prepareTyped(handler, api, weights: Int32Array(4)): lays the frame out once. */
ADDON_FUNCTION(prepareTyped) {
  ADDON_ARGUMENTS(3);
  void *address = addon_address(env, arguments[0]), *api = addon_address(env, arguments[1]);
  const int32_t *given = addon_elements(env, arguments[2], napi_int32_array, ATTRIBUTES);
  if (address == NULL || api == NULL || given == NULL) return NULL;
  handler = (tn_xla_handler_t *)(uintptr_t)address;
  for (int i = 0; i < BUFFERS; i++) buffers[i] = (tn_xla_buffer_t){sizeof buffers[i], NULL, TN_XLA_F32, NULL, 1, &one};
  for (int i = 0; i < ATTRIBUTES; i++) {
    weights[i] = given[i];
    scalars[i] = (tn_xla_scalar_t){TN_XLA_S32, &weights[i]};
  }
  frame = (tn_xla_call_frame_t){
      .struct_size = TN_XLA_SIZE_CALL_FRAME,
      .api = api,
      .stage = TN_XLA_EXECUTE,
      .args = {sizeof frame.args, NULL, OPERANDS, buffer_types, buffer_pointers},
      .rets = {sizeof frame.rets, NULL, BUFFERS - OPERANDS, buffer_types, buffer_pointers + OPERANDS},
      .attrs = {sizeof frame.attrs, NULL, ATTRIBUTES, attribute_types, attribute_names, attribute_values},
  };
  return NULL;
}

/* runTyped(x0, x1, x2, y: Float32Array(1)): the pointers of these arrays, and the call. */
ADDON_FUNCTION(runTyped) {
  ADDON_ARGUMENTS(4);
  for (int i = 0; i < BUFFERS; i++) {
    buffers[i].data = addon_elements(env, arguments[i], napi_float32_array, 1);
    if (buffers[i].data == NULL) return NULL;
  }
  return handler == NULL || handler(&frame) != NULL ? addon_throw(env, "the kernel failed") : NULL;
}

/* runTypedBound(): the call with the arrays of the last runTyped(), which JavaScript keeps. */
ADDON_FUNCTION(runTypedBound) {
  (void)info;
  return handler == NULL || handler(&frame) != NULL ? addon_throw(env, "the kernel failed") : NULL;
}

/* --- An untyped Host function: void f(void *out, const void **in) --------------------------------------------------- */

typedef void host_function_t(void *out, const void **in);

static host_function_t *host_function;
static void *host_out;
static const void *host_in[1];

/* bindHost(function, both: Int32Array): the operand, and the result in its place. */
ADDON_FUNCTION(bindHost) {
  ADDON_ARGUMENTS(2);
  void *address = addon_address(env, arguments[0]);
  host_out = addon_elements(env, arguments[1], napi_int32_array, 1);
  if (address == NULL || host_out == NULL) return NULL;
  host_function = (host_function_t *)(uintptr_t)address;
  host_in[0] = host_out;
  return NULL;
}

ADDON_FUNCTION(runHost) {
  (void)info;
  if (host_function == NULL) return addon_throw(env, "bind first");
  host_function(host_out, host_in);
  return NULL;
}

/* --- A JavaScript function that C calls ------------------------------------------------------------------------------ */

static napi_ref target;

ADDON_FUNCTION(setTarget) {
  ADDON_ARGUMENTS(1);
  napi_valuetype type;
  ADDON_CHECK(napi_typeof(env, arguments[0], &type));
  if (type != napi_function) return addon_throw(env, "expected a function");
  if (target != NULL) ADDON_CHECK(napi_delete_reference(env, target));
  ADDON_CHECK(napi_create_reference(env, arguments[0], 1, &target));
  return NULL;
}

/* callTarget(): calls it with a number, as native code would, and takes a number. */
ADDON_FUNCTION(callTarget) {
  (void)info;
  napi_value function, receiver, argument, result;
  int32_t status = 0;
  ADDON_CHECK(napi_get_reference_value(env, target, &function));
  ADDON_CHECK(napi_get_undefined(env, &receiver));
  ADDON_CHECK(napi_create_int32(env, 0, &argument));
  ADDON_CHECK(napi_call_function(env, receiver, function, 1, &argument, &result));
  ADDON_CHECK(napi_get_value_int32(env, result, &status));
  return status == 0 ? NULL : addon_throw(env, "the target failed");
}

ADDON_EXPORTS(ADDON_EXPORT(prepareTyped), ADDON_EXPORT(runTyped), ADDON_EXPORT(runTypedBound), ADDON_EXPORT(bindHost),
              ADDON_EXPORT(runHost), ADDON_EXPORT(setTarget), ADDON_EXPORT(callTarget))
