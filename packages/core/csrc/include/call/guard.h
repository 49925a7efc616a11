/* C++ exceptions, for all topics of the core. */
#pragma once

#include <stdint.h>

/* Does the same as tn_guard_call(), for calls inside the library, which cost less than those of exported functions. */
int32_t tn__guard_call(void (*body)(void *), void *context);

/* Ends an exception that an assembly function has caught, makes its text the last error, and returns its status. */
int32_t tn__guard_take(void *exception);

/* Does so for tn__on_stack(), and marks the call in progress. */
uint32_t tn__catch(void *exception);

/* The personality routine of tn__invoke() and tn__on_stack(), which the unwinder calls. */
int32_t tn__personality(int32_t version, int32_t actions, uint64_t class, void *exception, void *context);
