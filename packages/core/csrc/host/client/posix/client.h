/* A worker as its client has it. */
#ifndef TENON_HOST_CLIENT_H
#define TENON_HOST_CLIENT_H

#include <pthread.h>
#include <sched.h>
#include <sys/types.h>

#include "../../command.h"

struct tn_host {
  uint8_t *command;
  pid_t process;
  int lifeline;
  int doorbell;
  int control;
  int output[2];
  uint32_t near_calls;   /* the exchanges for which the worker stays on the processor of its caller */
  pthread_t near_thread; /* the thread that makes them */
  cpu_set_t of_caller;   /* the processors that this thread may use otherwise */
  cpu_set_t of_worker;
  bool is_silent; /* whether the worker has closed its end of the doorbell */
  bool is_joined; /* whether somebody else starts, ends and reaps the process */
  bool is_reaped;
  int32_t end_kind;
  int32_t end_value;
  bool is_of_thread;           /* whether it is in the list of the thread that has started it */
  struct tn_host *next;        /* of this list */
  struct tn_host **reference;  /* the pointer to it in this list */
};

static inline tn_host_header_t *tn__host_header(const tn_host_t *host) {
  return (tn_host_header_t *)(void *)host->command;
}

/* end.c: has the worker closed when the calling thread of JavaScript ends. */
void tn__host_end_with_thread(tn_host_t *host);

/* end.c: counts a worker that is open. */
void tn__host_count(const tn_host_t *host);

/* wait.c: whether this system can wait for several futexes. */
bool tn__host_can_wait(void);

#endif
