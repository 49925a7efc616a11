/* Initialisation that happens once for a handle, while no lock is held, because it runs code of kernels. */
#pragma once

#include "tenon.h"

/* An initialisation in progress: memory of the thread that runs it. */
typedef struct tn__once {
  void **handle;
  struct tn__once_thread *thread;
  struct tn__once *next;
} tn__once_t;

typedef enum {
  TN__ONCE_DONE,    /* the handle is initialised */
  TN__ONCE_BEGUN,   /* the caller initialises it, and then calls tn__once_end() */
  TN__ONCE_CIRCULAR /* waiting would never end: an initialisation in progress on this thread is waited for */
} tn__once_state_t;

/* Begins the initialisation of a handle that is null, or waits until the thread that does so has ended it. */
tn__once_state_t tn__once_begin(tn__once_t *once, void **handle);

/* Stores the value of the handle, null if its initialisation failed. */
void tn__once_end(tn__once_t *once, void *value);

/* The message for TN__ONCE_CIRCULAR. */
#define TN__ONCE_CIRCULAR_TEXT "deadlock avoided: the initialisation of a handle waits for itself"
