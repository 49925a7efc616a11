/* The functions of the Node-API module that make buffers over native memory. */
#pragma once
#include <node_api.h>

/* Throws an error of JavaScript. Returns null. */
static inline napi_value refuse(napi_env env, const char *message) {
  napi_throw_error(env, NULL, message);
  return NULL;
}

/* buffer(address: number, byteSize: number, owner: number | ArrayBuffer): an ArrayBuffer over native memory. If the owner is a
 * guarded block, the garbage collector frees it with the buffer. If it is a buffer, it stays alive as long as the made one. If
 * it is 0, the memory outlives the buffer. */
napi_value tn_node_make_buffer(napi_env env, napi_callback_info info);

/* parts(): number, the buffers of this thread that keep the buffers of which they are parts. */
napi_value tn_node_count_parts(napi_env env, napi_callback_info info);

#if !defined(_WIN32)
/* sharedBuffer(descriptor: number, offset: number, byteSize: number): a SharedArrayBuffer over a mapping of the descriptor, which may
 * be closed afterwards. The mapping lives as long as a thread has the buffer. Undefined if this version of Node.js cannot make one. */
napi_value tn_node_make_shared_buffer(napi_env env, napi_callback_info info);

/* Makes a SharedArrayBuffer over memory. The engine calls the finalizer on any thread, when no thread has the buffer any more. */
typedef napi_status (*make_shared_t)(napi_env env, void *data, size_t size, void (*finalizer)(void *data, void *hint),
                                     void *hint, napi_value *result);

/* Returns the function, or null if this version of Node.js does not have it. */
make_shared_t tn_node_shared_maker(void);

/* openRange(byteSize: number, byteAlignment: number, mapping: number): the handle of zeroed memory, or of a mapping, which it owns from
 * then on. 0 without memory; undefined where memory cannot be shared. The caller closes the handle once. The memory is freed when no
 * buffer over it is left. */
napi_value tn_node_open_range(napi_env env, napi_callback_info info);

/* rangeBuffer(range: number, offset: number, byteSize: number): a SharedArrayBuffer over a part of an open range, which it keeps. */
napi_value tn_node_range_buffer(napi_env env, napi_callback_info info);

/* closeRange(range: number): ends the use of the handle. */
napi_value tn_node_close_range(napi_env env, napi_callback_info info);
#endif
