/* What callback.c gives to the other files of the core. */
#ifndef TENON_CALLBACK_H
#define TENON_CALLBACK_H

#include "../base/internal.h"
#include "tenon_call.h"

/* Does the same as tn_callback_invoke(), for callers that have made sure that this is the callback's thread. */
int32_t tn__callback_enter(tn_callback_t *callback, void *arguments, void *result);

#endif
