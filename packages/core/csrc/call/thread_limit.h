#pragma once

#include <stddef.h>

#define TN__MOST_THREADS 1024

/* Returns how many threads a queue of jobs may have: the value of TENON_THREADS (`text`), or without one the larger of 4
 * and `processors`. Returns 0 if the value is not an integer from 1 to TN__MOST_THREADS. */
size_t tn__thread_limit(const char *text, size_t processors);
