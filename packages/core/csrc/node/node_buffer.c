/* Buffers of JavaScript over native memory. */
#if !defined(_WIN32)
#include <dlfcn.h>
#include <stdatomic.h>
#endif

#include "node_buffer.h"
#include "tenon_call.h"
#include "tenon_pools.h"

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

#if !defined(_WIN32)
/* Node.js exports the function since 22.20, and its public headers do not declare it. */
make_shared_t tn_node_shared_maker(void) {
  static _Atomic(make_shared_t) known;
  make_shared_t make_shared = atomic_load(&known);
  if (make_shared != NULL) return make_shared;
  make_shared = (make_shared_t)dlsym(RTLD_DEFAULT, "node_api_create_external_sharedarraybuffer");
  atomic_store(&known, make_shared);
  return make_shared;
}

/* The engine has freed the last buffer over the mapping, on any thread. */
static void unmap(void *data, void *size) { tn_mapping_close(data, (size_t)(uintptr_t)size); }

napi_value tn_node_make_shared_buffer(napi_env env, napi_callback_info info) {
  size_t count = 3;
  napi_value arguments[3], made;
  int32_t descriptor;
  int64_t offset, size;
  if (napi_get_cb_info(env, info, &count, arguments, NULL, NULL) != napi_ok || count != 3 ||
      napi_get_value_int32(env, arguments[0], &descriptor) != napi_ok ||
      napi_get_value_int64(env, arguments[1], &offset) != napi_ok || offset < 0 ||
      napi_get_value_int64(env, arguments[2], &size) != napi_ok || size <= 0)
    return refuse(env, "sharedBuffer() must get a descriptor, an offset and a size");
  const make_shared_t make_shared = tn_node_shared_maker();
  if (make_shared == NULL) return NULL;
  void *address;
  if (tn_mapping_open(descriptor, (uint64_t)offset, (size_t)size, TN_MAPPING_SHARED, &address) != TN_OK)
    return refuse(env, tn_last_error());
  if (make_shared(env, address, (size_t)size, unmap, (void *)(uintptr_t)size, &made) == napi_ok) return made;
  unmap(address, (void *)(uintptr_t)size);
  return refuse(env, "the engine refuses the buffer");
}
#endif
