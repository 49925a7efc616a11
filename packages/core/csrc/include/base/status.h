/* Status codes and the last error of each thread, for all topics of the core. */
#pragma once

#include "tenon.h"

#if defined(_WIN32) && !defined(__clang__)
/* For gcc, printf is that of the old C library of Windows, although __USE_MINGW_ANSI_STDIO replaces it. */
#define TN_PRINTF(format_index, first) __attribute__((format(gnu_printf, format_index, first)))
#else
#define TN_PRINTF(format_index, first) __attribute__((format(printf, format_index, first)))
#endif

/* Sets the calling thread's last error (printf-like, truncated at 1023 bytes) and returns `status`. */
TN_PRINTF(2, 3) int32_t tn__fail(int32_t status, const char *format, ...);

/* Returns TN_OK, or for a negative result of a system call TN_SYSTEM, with `what` and errno as last error. */
int32_t tn__system(int64_t result, const char *what);

/* Makes the calling function return TN_INVALID_ARGUMENT with a message (printf-like) unless the condition holds. */
#define TN_REQUIRE(condition, ...)                                        \
  do {                                                                    \
    if (!(condition)) return tn__fail(TN_INVALID_ARGUMENT, __VA_ARGS__);  \
  } while (0)

/* Makes the calling function return the status of a call, unless it is TN_OK. */
#define TN_TRY(call)                           \
  do {                                         \
    const int32_t tried = (call);              \
    if (tried != TN_OK) return tried;          \
  } while (0)
