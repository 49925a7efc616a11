/* The threads whose crashes are reported, and the calls that they make. */
#pragma once

#include <stdbool.h>

#include "base/status.h"
#include "job_pool.h"
#include "tenon_call.h"

typedef struct tn__caller tn__caller_t;

/* The functions that the threads of the pool call. They do nothing before tn__crash_threads_begin(). */
extern const tn__job_hooks_t tn__crash_job_hooks;

/* From now on threads of the pool are among those that are found. */
void tn__crash_threads_begin(void);

/* --- For handlers of signals -------------------------------------------------------------------------------------- */

/* The id of this thread, and a thread by its id; null if it is none of them. */
int tn__crash_thread_id(void);
const tn__caller_t *tn__crash_thread(int id);

/* Whether native code of a call runs, and not a function of TypeScript that it has called. */
bool tn__crash_is_in_call(const tn__caller_t *caller);

/* The innermost call, or null if it is not known. */
const tn_crash_call_t *tn__crash_call(const tn__caller_t *caller);

/* The kind of the thread, in words. */
const char *tn__crash_kind(const tn__caller_t *caller);
