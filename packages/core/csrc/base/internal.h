/* Functions that the files of the core share. The library does not export them. */
#pragma once

#include "tenon.h"

#if defined(_WIN32) && !defined(__clang__)
/* For gcc, printf is that of the old C library of Windows, although __USE_MINGW_ANSI_STDIO replaces it. */
#define TN_PRINTF(format_index, first) __attribute__((format(gnu_printf, format_index, first)))
#else
#define TN_PRINTF(format_index, first) __attribute__((format(printf, format_index, first)))
#endif

/* status.c: sets the calling thread's last error (printf-like, truncated at 1023 bytes) and returns `status`. */
TN_PRINTF(2, 3) int32_t tn__fail(int32_t status, const char *format, ...);

/* status.c: returns TN_OK, or for a negative result of a system call TN_SYSTEM, with `what` and errno as last error. */
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

/* posix/memory.c, win32/memory.c: allocates uninitialised memory. Returns null if there is none. The alignment is a
 * power of two and at least the size of a pointer. */
void *tn__aligned_allocate(size_t byte_size, size_t byte_alignment);
void tn__aligned_free(void *block);

typedef struct tn__thread {
  void (*run)(void *data);
  void *data;
} tn__thread_t;

/* posix/thread.c, win32/thread.c: starts a detached thread with a stack of 8 MiB, which reads `thread` at its start and
 * runs no handlers of signals but those of faults. 0 if refused. */
int tn__thread_start(const tn__thread_t *thread);

/* The processors that this process may use. */
size_t tn__processor_count(void);

/* posix/javascript_thread_end.c, win32/unsupported.c: has `hook` called when the calling thread of JavaScript ends,
 * before its memory is freed. Called once for a thread. Returns 0 if the hook will not be called, because the thread does
 * not run JavaScript or runs it outside Node. A process that exits does not call it. */
int tn__javascript_thread_on_end(void (*hook)(void *data), void *data);

/* posix/event.c, win32/unsupported.c: file descriptors with which any thread wakes an event loop. */
typedef struct tn__event {
  int from; /* readable after a signal, until it is cleared */
  int to;
} tn__event_t;

int32_t tn__event_open(tn__event_t *event);
void tn__event_signal(tn__event_t *event);
void tn__event_clear(tn__event_t *event);
void tn__event_close(tn__event_t *event);

/* posix/fault_guard.c: watches a range of guarded pages. */
int32_t tn__fault_guard_add(void *address, size_t byte_size);

/* Stops watching the range that starts at `address`, if it is watched. */
void tn__fault_guard_remove(void *address);

/* posix/guard_report.c: reports on stderr that bytes beside the segment in the pages at `address` were changed. */
void tn__guard_report_damage(const void *address, uint64_t before, uint64_t behind);
