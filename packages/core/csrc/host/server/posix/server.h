/* This process as a worker. */
#ifndef TENON_HOST_SERVER_H
#define TENON_HOST_SERVER_H

#include "command.h"

/* watchdog.c: starts the thread that ends the process when its client is gone or a call outlives its deadline by far. */
int32_t tn__host_watch(void);

/* output.c: moves what is in the pipes of stdout and stderr to the output ring. Any thread may call it. */
void tn__host_move_output(void);

#endif
