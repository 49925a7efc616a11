/* Calls of foreign code that may throw C++ exceptions, which must not leave frames of this library. */
#pragma once

#include "host.h"

/* Raises the C++ exception that tn_guard_call() has ended with this status. Returns -1. */
int tn__raise_exception(int32_t status);

/* Calls `run(context)` and returns its status. An exception becomes an error that is raised, and -1. */
int tn__guarded(int (*run)(void *context), void *context);

/* Does the same with a packed function. */
int tn__guarded_call(TVMFFIObjectHandle function, TVMFFIAny *args, int32_t count, TVMFFIAny *result);
