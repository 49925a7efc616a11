/* Errors of libtvm_runtime. Both conventions use the error slot of the thread; this one also has a copy of the text. */
#pragma once

#include "../ffi/legacy.h"
#include "base/status.h"

/* Raises an error of tvm-ffi (printf-like) and returns -1. */
TN_PRINTF(2, 3) int tn__legacy_raise(const char *kind, const char *format, ...);

/* Copies the text of the raised error, which stays raised, for TVMGetLastError(). Returns -1. */
int tn__legacy_note_error(void);

/* Ends a function of this convention: returns its status, after noting the error of a failure. */
static inline int tn__legacy_end(int status) { return status == 0 ? 0 : tn__legacy_note_error(); }

/* Raises an error and notes it; returns -1. */
#define tn__legacy_fail(...) (tn__legacy_raise(__VA_ARGS__), tn__legacy_note_error())

/* Raises an error if none is raised after a function failed with -2, by which the host keeps the error. Returns -1. */
int tn__legacy_host_error(void);
