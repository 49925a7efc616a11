/* A part of tenon.h, which says what holds for every function: streams of a CUDA driver. */
#ifndef TENON_CUDA_H
#define TENON_CUDA_H

#include "tenon_xla.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- xla/cuda.c: calls on a stream ---------------------------------------------------------------------------------- */

/* One stream, and the functions of the driver that the core itself calls for it: pointers to those of libcuda, whose
 * signatures these are (CUresult is an int, CUdeviceptr a uint64). The core links with no driver and looks for none.
 *
 * The memory is the caller's, until tn_cuda_stream_close(). tn_cuda_stream_open() fills in `device` and `memory`, which calls
 * are given by tn_xla_on_device() and tn_xla_give_memory(). */
typedef struct tn_cuda_stream {
  tn_xla_device_t device;
  tn_xla_memory_t memory;
  void *stream;  /* CUstream */
  void *context; /* CUcontext */
  int32_t (*set_current)(void *context);                           /* cuCtxSetCurrent */
  int32_t (*allocate)(uint64_t *out, size_t size, void *stream);   /* cuMemAllocAsync */
  int32_t (*release)(uint64_t memory, void *stream);               /* cuMemFreeAsync */
  int32_t (*begin_capture)(void *stream, int32_t mode);            /* cuStreamBeginCapture_v2 */
  int32_t (*end_capture)(void *stream, void **graph);              /* cuStreamEndCapture */
  int32_t (*synchronize)(void *stream);                            /* cuStreamSynchronize */
  struct tn_cuda_stream *next;                                     /* the core's own: among the streams of the thread */
} tn_cuda_stream_t;

/* Makes a stream ready whose `stream`, `context` and functions are set. If the thread of JavaScript that opened it ends before it
 * is closed, by force perhaps, its work is waited for: it may use memory that goes with the thread. */
TN_API int32_t tn_cuda_stream_open(tn_cuda_stream_t *stream);

/* Forgets a stream, on the thread that opened it. Nothing if it is not open. */
TN_API void tn_cuda_stream_close(tn_cuda_stream_t *stream);

/* Runs a prepared call like tn_xla_execute(), with the execute handler's work on the stream captured instead of done. `*graph`
 * is the caller's CUgraph to destroy; null if the run failed. What fails in the driver is a failure of the call. The handler must
 * not allocate: it gets FAILED_PRECONDITION. */
TN_API int32_t tn_cuda_capture(void *call, tn_cuda_stream_t *stream, void **graph);

#ifdef __cplusplus
}
#endif
#endif
