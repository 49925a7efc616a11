/* Errors of packed functions, as answers. */
#ifndef TENON_HOST_PACKED_ERRORS_H
#define TENON_HOST_PACKED_ERRORS_H

#include "request.h"

/* Answers a request with the error that is raised on this thread. Returns TN_KERNEL_FAILED. */
int32_t tn__answer_raised(tn__request_t *request);

#endif
