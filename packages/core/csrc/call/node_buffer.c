/* Buffers of JavaScript over native memory. */
#include "node_buffer.h"
#include "tenon_call.h"

/* The number of buffers of this thread that keep the buffers of which they are parts. */
static _Thread_local uint32_t parts;

/* V8 has freed the memory of a buffer, also if a user has transferred it, or the thread ends. */
static void free_guarded(napi_env env, void *data, void *guarded) {
  (void)env, (void)data;
  tn_guarded_free(guarded);
}

static void forget_owner(napi_env env, void *data, void *owner) {
  (void)data;
  parts--;
  napi_delete_reference(env, owner);
}

napi_value tn_node_make_buffer(napi_env env, napi_callback_info info) {
  size_t count = 3;
  napi_value arguments[3], made;
  int64_t address, size, guarded = 0;
  bool is_part;
  if (napi_get_cb_info(env, info, &count, arguments, NULL, NULL) != napi_ok || count != 3 ||
      napi_get_value_int64(env, arguments[0], &address) != napi_ok ||
      napi_get_value_int64(env, arguments[1], &size) != napi_ok ||
      napi_is_arraybuffer(env, arguments[2], &is_part) != napi_ok ||
      (!is_part && napi_get_value_int64(env, arguments[2], &guarded) != napi_ok))
    return refuse(env, "buffer() must get an address, a size, and a guarded block, a buffer or 0");
  void *owner = (void *)(uintptr_t)guarded;
  napi_ref reference = NULL;
  if (is_part) {
    if (napi_create_reference(env, arguments[2], 1, &reference) != napi_ok)
      return refuse(env, "the engine refuses the reference");
    owner = reference;
    parts++;
  }
  const napi_finalize finalizer = is_part ? forget_owner : guarded == 0 ? NULL : free_guarded;
  const napi_status status =
      napi_create_external_arraybuffer(env, (void *)(uintptr_t)address, (size_t)size, finalizer, owner, &made);
  if (status == napi_ok) return made;
  if (is_part) forget_owner(env, NULL, owner);
  /* JavaScript may be ending, and then nothing can be thrown. */
  return refuse(env, status == napi_no_external_buffers_allowed ? "this runtime has no external buffers"
                                                                : "the engine refuses the buffer");
}

napi_value tn_node_count_parts(napi_env env, napi_callback_info info) {
  (void)info;
  napi_value made;
  return napi_create_uint32(env, parts, &made) == napi_ok ? made : NULL;
}
