/* Calls under the installed exception guard, for all topics of the core. */
#pragma once

#include <stdint.h>

/* Does the same as tn_guard_call(), for calls inside the library, which cost less than those of exported functions. */
int32_t tn__guard_call(void (*body)(void *), void *context);
