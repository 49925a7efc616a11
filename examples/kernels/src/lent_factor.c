/* Handlers that look up an object, which the caller lends them, by its type. There is one for each version of the ABI.
 *
 * The library owns the id of the type, which is 0 until a runtime registers the type. The caller does so with the
 * symbols factor_type_id and factor_type_info, or by a call of provide_factor_type(). */
#include "typed.h"

typedef struct {
  float factor;
} factor_t;

static void keep(void *object) { (void)object; }

TN_XLA_EXPORT tn_xla_type_id_t factor_type_id;
tn_xla_type_id_t factor_type_id;
TN_XLA_EXPORT const tn_xla_type_info_t factor_type_info;
const tn_xla_type_info_t factor_type_info = {sizeof factor_type_info, NULL, keep};

/* Registers the type with the runtime of `api`, version 0.2 or later. Returns null or an error of the runtime. */
TN_XLA_EXPORT tn_xla_error_t *provide_factor_type(const tn_xla_api_t *api) {
  tn_xla_type_register_args_v2_t type = {TN_XLA_SIZE_TYPE_REGISTER, NULL, {"tenon_factor", 12}, &factor_type_id,
                                         &factor_type_info};
  return api->type_register(&type);
}

/* y = factor * x, both f32[n]. */
static tn_xla_error_t *run(tn_xla_call_frame_t *frame, int32_t minor) {
  const tn_xla_signature_t signature = {.minor = minor, .stage = TN_XLA_EXECUTE, .args = 1, .rets = 1, .attrs = 0};
  tn_xla_reader_t in;
  if (!tn_xla_open(&in, frame, &signature)) return in.error;
  const tn_xla_buffer_t *x = tn_xla_arg(&in, 0, TN_XLA_F32, 1);
  tn_xla_buffer_t *y = tn_xla_ret(&in, 0, TN_XLA_F32, 1);
  if (!tn_xla_complete(&in)) return in.error;
  if (!tn_xla_same_shape(x, y)) return tn_xla_fail(frame, TN_XLA_INVALID_ARGUMENT, "y must have the shape of x");
  tn_xla_context_get_args_t args = {sizeof args, NULL, frame->ctx, &factor_type_id, NULL};
  tn_xla_error_t *error = frame->api->context_get(&args);
  if (error != NULL) return error;
  const factor_t *lent = args.data;
  for (int64_t i = 0; i < x->dims[0]; i++) ((float *)y->data)[i] = lent->factor * ((const float *)x->data)[i];
  return NULL;
}

TYPED_HANDLER(lent_factor_v1, run(frame, 1));
TYPED_HANDLER(lent_factor_v2, run(frame, 2));
TYPED_HANDLER(lent_factor_v3, run(frame, 3));
TYPED_HANDLER(lent_factor_v4, run(frame, 4));

/* Providers that do not register a type. The first one has no result, the second one fails. */
TN_XLA_EXPORT void provide_nothing(const tn_xla_api_t *api) { (void)api; }
TN_XLA_EXPORT tn_xla_error_t *provide_failure(const tn_xla_api_t *api) {
  tn_xla_error_create_args_t args = {TN_XLA_SIZE_ERROR_CREATE, NULL, "nothing to provide", TN_XLA_INVALID_ARGUMENT};
  return api->error_create(&args);
}
