/* Functions of the client, which kernels call while their request is served. */
#ifndef TENON_HOST_CLIENT_FUNCTIONS_H
#define TENON_HOST_CLIENT_FUNCTIONS_H

#include "packed_runtime.h"
#include "request.h"

/* Allows functions of the client to be called until tn__client_calls_end(), which waits for a call in progress. */
void tn__client_calls_begin(tn__request_t *request);
void tn__client_calls_end(void);

/* Makes a packed function of a function of the client. 0 and an owned value, or -1 with an error raised. */
int tn__client_function(uint32_t id, TVMFFIAny *out);

/* Whether a function of the client has raised this very error during the request, with an id of the client. */
bool tn__client_error_id(TVMFFIObjectHandle error, uint32_t *id);

#endif
