/* The tables of functions for handlers. Each minor version has its own, because the layouts of some arguments have
 * changed while their size has not. */
#include "internal.h"

/* Fills every slot that a version lacks, because all functions of the table take one pointer and return an error. */
static tn_xla_error_t *unimplemented(void *args) {
  (void)args;
  return tn__xla_error(TN_XLA_UNIMPLEMENTED,
                       "this function is not part of the XLA FFI that the runtime speaks (0.1 to 0.%d)",
                       TN_XLA_NEWEST_MINOR);
}

/* Registration asks handlers for their metadata, which needs a table too. */
static tn_xla_error_t *handler_register(void *args) {
  return tn__xla_handler_register(args, tn__xla_api(TN_XLA_NEWEST_MINOR));
}

/* The slot of FindExtension in tables that end before it. */
static tn_xla_error_t *no_find_extension(tn_xla_find_extension_args_t *args) { return unimplemented(args); }

/* The slots after the end of the table, which a handler of a later version may call. */
#define LATER_SLOTS 23

typedef struct {
  tn_xla_api_t api;
  tn_xla_error_t *(*later[LATER_SLOTS])(void *);
} table_t;

#define TABLE(size, minor, register_type, set, get, find_extension)                                                \
  {{size, NULL, {sizeof(tn_xla_api_version_t), NULL, 0, minor}, NULL,                                              \
    tn__xla_error_create, tn__xla_error_get_details, tn__xla_error_destroy_args, handler_register,                 \
    tn__xla_stream_get, register_type, tn__xla_context_get, set, get, tn__xla_memory_allocate,                     \
    tn__xla_memory_free, tn__xla_pool_schedule, tn__xla_pool_num_threads, tn__xla_future_create,                   \
    tn__xla_future_set_available, tn__xla_future_set_error, tn__xla_run_id_get, tn__xla_device_ordinal_get,        \
    find_extension},                                                                                               \
   {[0 ... LATER_SLOTS - 1] = unimplemented}}

/* Early headers of 0.1 lack a run id and a device ordinal. Since spring 2025 they have 0.2's, in the same slots. */
static const table_t tables[] = {
    TABLE(TN_XLA_SIZE_API_V1, 1, tn__xla_type_register_v1, tn__xla_state_set_v1, tn__xla_state_get_v1,
          no_find_extension),
    TABLE(TN_XLA_SIZE_API_V2, 2, tn__xla_type_register_v2, tn__xla_state_set_v2, tn__xla_state_get_v1,
          no_find_extension),
    TABLE(TN_XLA_SIZE_API, 3, tn__xla_type_register_v2, tn__xla_state_set_v3, tn__xla_state_get_v3,
          tn__xla_find_extension),
    TABLE(TN_XLA_SIZE_API, 4, tn__xla_type_register_v2, tn__xla_state_set_v3, tn__xla_state_get_v3,
          tn__xla_find_extension),
};

const tn_xla_api_t *tn__xla_api(int32_t minor) {
  if (minor < 1) minor = 1;
  if (minor > TN_XLA_NEWEST_MINOR) minor = TN_XLA_NEWEST_MINOR;
  return &tables[minor - 1].api;
}

/* The minor version of XLA_FFI_GetApi(), or 0 for the newest. */
static _Thread_local int32_t offered;

int32_t tn_xla_offer(int32_t minor) {
  TN_REQUIRE(minor >= 0 && minor <= TN_XLA_NEWEST_MINOR,
             "minor must be at most %d, got %d", TN_XLA_NEWEST_MINOR, (int)minor);
  offered = minor;
  return TN_OK;
}

/* Libraries look up the table under two names when they are loaded. */
TN_API const tn_xla_api_t *XLA_FFI_GetApi(void) { return tn__xla_api(offered == 0 ? TN_XLA_NEWEST_MINOR : offered); }

/* xla::ffi::GetXlaFfiApi() of C++. */
TN_API const tn_xla_api_t *_ZN3xla3ffi12GetXlaFfiApiEv(void);
TN_API const tn_xla_api_t *_ZN3xla3ffi12GetXlaFfiApiEv(void) { return XLA_FFI_GetApi(); }

int32_t tn_xla_metadata(void *handler, void *out, int32_t *code) {
  TN_REQUIRE(handler != NULL && out != NULL && code != NULL, "handler, out and code must not be null");
  tn_xla_handler_t *function;
  memcpy(&function, &handler, sizeof function);
  return tn__xla_metadata(function, tn__xla_api(TN_XLA_NEWEST_MINOR), out, code);
}

typedef struct {
  tn_xla_error_t *(*provider)(const tn_xla_api_t *api);
  const tn_xla_api_t *api;
  tn_xla_error_t *error;
} provision_t;

static void provide(void *context) {
  provision_t *provision = context;
  provision->error = provision->provider(provision->api);
}

int32_t tn_xla_provide(void *provider, int32_t minor, int32_t *code) {
  TN_REQUIRE(provider != NULL && code != NULL, "provider and code must not be null");
  provision_t provision = {.api = tn__xla_api(minor)};
  memcpy(&provision.provider, &provider, sizeof provider);
  const int32_t status = tn_guard_call(provide, &provision);
  /* The result of a function that returns nothing is not an error of this runtime. */
  if (status != TN_OK || !tn__xla_error_is_live(provision.error)) return status;
  const int32_t failed = tn__xla_error_report(provision.error, code);
  return *code == TN_XLA_OK ? TN_OK : failed;
}
