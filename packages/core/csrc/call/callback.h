/* Callbacks, for the other files of the core. */
#pragma once

#include "../base/internal.h"
#include "tenon_call.h"

/* A number that no other thread of this process has or will ever have; the system uses its thread ids again. */
uint64_t tn__this_thread(void);

/* Does the same as tn_callback_invoke(), for callers that have made sure that this is the callback's thread. */
int32_t tn__callback_enter(tn_callback_t *callback, void *arguments, void *result);
