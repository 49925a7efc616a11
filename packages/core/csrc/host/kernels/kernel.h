/* A kernel: a function of a library, ready to be called. What a call needs is made once for each kernel. */
#ifndef TENON_HOST_KERNEL_H
#define TENON_HOST_KERNEL_H

#include "libraries.h"

typedef struct tn__kernel tn__kernel_t;
struct tn__kernel {
  uint32_t operands, results; /* of a call; a packed function takes any number */
  /* Runs a request whose operands were reached, and answers it. Returns a status. */
  int32_t (*run)(tn__kernel_t *kernel, tn__request_t *request);
  /* Frees the kernel and its states. */
  void (*close)(tn__kernel_t *kernel);
};

/* The body of TN_HOST_KERNEL, checked. */
typedef struct {
  tn_host_kernel_t head;
  tn__kernel_library_t *library;
  const char *symbols[4]; /* not NUL-terminated */
  uint8_t *descriptor;    /* aligned to 8 bytes; may be changed */
} tn__kernel_request_t;

/* The constructors of kernels by convention. Each returns a status, and refuses or answers the request if it is not TN_OK. */
int32_t tn__typed_kernel(tn__request_t *request, const tn__kernel_request_t *body, tn__kernel_t **out);
int32_t tn__untyped_kernel(tn__request_t *request, const tn__kernel_request_t *body, tn__kernel_t **out);
int32_t tn__packed_kernel(tn__request_t *request, const tn__kernel_request_t *body, tn__kernel_t **out);
int32_t tn__function_kernel(tn__request_t *request, const tn__kernel_request_t *body, tn__kernel_t **out);
int32_t tn__tensorflow_kernel(tn__request_t *request, const tn__kernel_request_t *body, tn__kernel_t **out);

/* CLOCK_MONOTONIC in ns is measured around the kernel itself. */
static inline void tn__took(tn__request_t *request, uint64_t start) { request->slot->native_time = tn_host_now() - start; }

#endif
