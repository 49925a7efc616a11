#include "tenon_host.h"

#if defined(__linux__)
#include "command.h"

uint8_t *tn__host_command;
#endif
