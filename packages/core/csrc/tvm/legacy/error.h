/* Errors of the convention before tvm-ffi: one slot of the thread for both, and a copy of the text for who asks. */
#ifndef TENON_TVM_LEGACY_ERROR_H
#define TENON_TVM_LEGACY_ERROR_H

#include "tenon/tvm_ffi.h"

#if defined(__GNUC__)
#define TN_PRINTF(format_index, first) __attribute__((format(printf, format_index, first)))
#else
#define TN_PRINTF(format_index, first)
#endif

/* Raises an error of tvm-ffi (printf-like) and returns -1. */
TN_PRINTF(2, 3) int tn__legacy_raise(const char *kind, const char *format, ...);

/* Copies the text of the error that is raised, which stays raised, for TVMGetLastError(). Returns -1. */
int tn__legacy_note_error(void);

/* Ends a function of this convention: its status, and the error noted if there is one. */
static inline int tn__legacy_end(int status) { return status == 0 ? 0 : tn__legacy_note_error(); }

/* As both: raises and notes. */
#define tn__legacy_fail(...) (tn__legacy_raise(__VA_ARGS__), tn__legacy_note_error())

/* After a function of this convention failed with -2 ("the host knows"): raises an error if none is. Returns -1. */
int tn__legacy_host_error(void);

#endif
