/* Threads of the system, and the end of threads of JavaScript. */
#pragma once

#include <stddef.h>

typedef struct tn__thread {
  void (*run)(void *data);
  void *data;
} tn__thread_t;

/* Starts a detached thread with a stack of 8 MiB, which reads `thread` at its start and
 * runs no handlers of signals but those of faults. 0 if refused. */
int tn__thread_start(const tn__thread_t *thread);

/* The processors that this process may use. */
size_t tn__processor_count(void);

/* posix/javascript_thread_end.c, win32/unsupported.c: has `hook` called when the calling thread of JavaScript ends,
 * before its memory is freed. Called once for a thread. Returns 0 if the hook will not be called, because the thread does
 * not run JavaScript or runs it outside Node. A process that exits does not call it. */
int tn__javascript_thread_on_end(void (*hook)(void *data), void *data);
