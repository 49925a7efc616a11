/* This process as a worker. */
#ifndef TENON_HOST_SERVER_H
#define TENON_HOST_SERVER_H

#include "../../command.h"

/* command.c: the command memory, or null in a process that is not a worker. */
extern uint8_t *tn__host_command;

static inline tn_host_header_t *tn__host_header(void) { return (tn_host_header_t *)(void *)tn__host_command; }

/* watchdog.c: starts the thread that ends the process when its client is gone or a call outlives its deadline by far. */
int32_t tn__host_watch(void);

/* output.c: moves what is in the pipes of stdout and stderr to the output ring. Any thread may call it. */
void tn__host_move_output(void);

#endif
