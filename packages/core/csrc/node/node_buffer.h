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
#endif
