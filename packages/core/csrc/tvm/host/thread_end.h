/* Actions for the end of a thread. */
#pragma once

#include "base/lock.h"

/* One kind of action: static, initialised with TN__THREAD_END(leave). */
typedef struct {
  void (*leave)(void *value);
  tn__lock_t lock;
  int is_made;
  unsigned long key;
} tn__thread_end_t;

#define TN__THREAD_END(function) {.leave = (function), .lock = TN__LOCK}

/* posix/thread_end.c, win32/thread_end.c: calls `leave(value)` when the calling thread ends; the value replaces the
 * previous one. 0 if the system has no room for another kind of action. */
int tn__at_thread_end(tn__thread_end_t *end, void *value);
