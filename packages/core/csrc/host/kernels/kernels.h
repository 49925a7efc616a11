/* The kernels of the client, by their ids. */
#ifndef TENON_HOST_KERNELS_H
#define TENON_HOST_KERNELS_H

#include "request.h"

int32_t tn__serve_kernel(tn__request_t *request);
int32_t tn__serve_release_kernel(tn__request_t *request);
int32_t tn__serve_run(tn__request_t *request);

#endif
