/* C++ exceptions, for all topics of the core. */
#pragma once

#include <stdint.h>

#include "tenon_call.h"

/* The installed guard, or null. */
const tn_guard_t *tn__guard_installed(void);

/* The environment of this thread if it is in a call, which must not end the thread; else null, and on Windows always. */
tn_environment_t *tn__environment_in_call(void);

/* Ends an exception that an assembly function has caught, makes its text the last error, and returns its status. Null stands
 * for the end of the thread. */
int32_t tn__guard_take(void *exception);

/* Does so for tn__on_stack(), and marks the call in progress. */
uint32_t tn__catch(void *exception);

/* The personality routine of tn__invoke() and tn__on_stack(), which the unwinder calls. */
int32_t tn__personality(int32_t version, int32_t actions, uint64_t class, void *exception, void *context);
