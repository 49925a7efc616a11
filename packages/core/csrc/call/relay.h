/* Calls of threads of JavaScript that are refused when their function dies. */
#pragma once

#include "environment.h"

/* Does the same as tn_environment_relay(), but returns TN_CLOSED if `is_wanted(data)` is false before the call begins. */
int32_t tn__relay(const tn_relay_t *relay, bool (*is_wanted)(const void *data));

/* Answers the callers that wait for this environment and whose calls are not wanted any more. */
void tn__relay_recheck(tn_environment_t *environment);
