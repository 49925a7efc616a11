/* The command memory of this process. */
#ifndef TENON_HOST_SERVER_COMMAND_H
#define TENON_HOST_SERVER_COMMAND_H

#include "../../command.h"

/* The command memory, or null in a process that is not a worker. */
extern uint8_t *tn__host_command;

static inline tn_host_header_t *tn__host_header(void) { return (tn_host_header_t *)(void *)tn__host_command; }

#endif
