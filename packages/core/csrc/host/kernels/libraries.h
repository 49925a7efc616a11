/* Libraries of kernels, and the libraries of Tenon that they need. */
#ifndef TENON_HOST_LIBRARIES_H
#define TENON_HOST_LIBRARIES_H

#include "request.h"

typedef struct tn__kernel_library {
  void *handle; /* of the system's loader; libraries are never closed */
  char *path;   /* NUL-terminated */
  void *modules[2]; /* the modules of tvm-ffi and of TVM to 0.20, or null until they are needed */
} tn__kernel_library_t;

/* Opens a library: its constructors run, which may register kernels. */
int32_t tn__serve_load(tn__request_t *request);

/* Returns a library, or null. */
tn__kernel_library_t *tn__library_of(uint32_t id);

/* Looks up a symbol: `*out` is null if its name is empty. Refuses the request if the library does not export it. */
int32_t tn__library_find(tn__request_t *request, const tn__kernel_library_t *library, const char *name, uint32_t length,
                         void **out);

#endif
