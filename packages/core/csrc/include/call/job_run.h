/* Work that a job has begun. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Stands for every owner, and for none. */
#define TN__JOBS_OF_ALL UINT64_MAX

/* The size of the names of calls with their NUL. */
#define TN__CALL_NAME 96

/* Work of an owner that goes on, in the memory of whoever does the work. */
typedef struct tn__job_run {
  struct tn__job_run *next, *previous;
  uint64_t owner;
  char name[TN__CALL_NAME]; /* a copy, because the job may be freed first; empty for a job without a name */
  bool is_later;            /* whether no thread of the pool does it */
} tn__job_run_t;
