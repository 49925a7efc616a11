/* The strings that kernels write to results. */
#ifndef TENON_HOST_STRING_RESULTS_H
#define TENON_HOST_STRING_RESULTS_H

#include "request.h"

/* Whether a request has results of strings. */
int tn__has_string_results(const tn__request_t *request);

/* Makes all elements of string results empty strings, because a request can follow one that has crashed. */
void tn__clear_string_results(const tn__request_t *request);

/* Frees the blocks of strings that a kernel has written before it failed. */
void tn__free_string_results(const tn__request_t *request);

/* Copies the strings of a successful run that are not in their structs, so that the client can fetch them, and frees their blocks. */
int32_t tn__answer_strings(tn__request_t *request);

#endif
