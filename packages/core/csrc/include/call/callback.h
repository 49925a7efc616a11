/* Callbacks, for all topics of the core. */
#pragma once

#include "tenon_call.h"

/* Calls the function of a callback of this environment, on its thread, like tn_callback_invoke(). */
int32_t tn__callback_run(tn_environment_t *environment, const tn_callback_t *callback, void *arguments, void *result);
