/* The requests in the slots of command memory. */
#ifndef TENON_HOST_SERVE_H
#define TENON_HOST_SERVE_H

#include <stdint.h>

/* Serves the request in a posted slot, unless it is TN_HOST_HELLO, and writes its answer. The caller announces that with
 * tn_host_answer(). */
void tn__host_serve(uint8_t *command, uint32_t slot);

#endif
