/* The pool of the process, for all topics of the core. Rules of owners: jobs of the queue TN_JOBS_TASKS belong to
 * nobody, because calls wait for them. */
#pragma once

#include <stddef.h>

#include "call/job_run.h"

/* Returns the number of threads that a queue may have. TN_INVALID_ARGUMENT: TENON_THREADS is not valid. */
int32_t tn__jobs_limit(size_t *out);

/* Removes the calls of an owner, or with TN__JOBS_OF_ALL of all owners, that have not begun. Tasks stay, because calls that
 * have begun may wait for them. */
void tn__jobs_remove_all(uint64_t owner);

/* Waits until nothing of an owner, or with TN__JOBS_OF_ALL nothing at all, runs or waits for a thread. Returns 0 if
 * `deadline_ms` of tn__now_ms() comes first, which never comes if it is TN__JOBS_NO_DEADLINE. */
int tn__jobs_wait(uint64_t owner, uint64_t deadline_ms);
#define TN__JOBS_NO_DEADLINE UINT64_MAX

/* Refuses all further calls, on every thread. */
void tn__jobs_close(void);

/* Mark the start and the end of work of an owner for tn__jobs_wait(), if the work goes on after its job has returned. */
void tn__jobs_begin(tn__job_run_t *run, uint64_t owner, const char *name);
void tn__jobs_end(tn__job_run_t *run);

/* Finds a call with a name that goes on: tn__job_pool_describe(). */
bool tn__jobs_describe(char *name, bool *is_later);
