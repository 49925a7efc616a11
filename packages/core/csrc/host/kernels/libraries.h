/* Libraries of kernels, and the libraries of Tenon that they need. */
#ifndef TENON_HOST_LIBRARIES_H
#define TENON_HOST_LIBRARIES_H

#include "requests.h"

typedef struct tn__kernel_library {
  void *handle; /* of the system's loader; libraries are never closed */
  char *path;   /* NUL-terminated */
  void *modules[2]; /* the modules of tvm-ffi and of TVM to 0.20, or null until they are needed */
} tn__kernel_library_t;

/* Opens a library: its constructors run, which may register kernels. */
int32_t tn__serve_load(tn__request_t *request);

/* Returns a library, or null. */
tn__kernel_library_t *tn__library_of(uint32_t id);

/* Writes the path of a library of Tenon, which is beside the core. False if it does not fit. */
bool tn__sibling_path(const char *name, char *path, size_t size);

#endif
