/* The functions of the Node-API module that watch descriptors. The module for Windows does not have them. */
#pragma once
#include <node_api.h>

#if !defined(_WIN32)
/* watch(descriptor: number, whenReadable: () => void): Watch. It does not keep the event loop running. */
napi_value tn_node_make_watch(napi_env env, napi_callback_info info);

/* setWatch(watch: Watch, state: number): 0 closes it, and nothing else may be done then; 1 keeps the event loop running
 * while it is open; 2 does not. */
napi_value tn_node_set_watch(napi_env env, napi_callback_info info);
#endif
