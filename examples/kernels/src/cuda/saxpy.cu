/* Custom calls in CUDA C++, with the headers of @tenon/core. The build does not compile this file. Compile it
 * with nvcc, in examples/kernels/src/cuda:
 *
 *   nvcc -O2 -std=c++17 -shared -Xcompiler -fPIC -I ../../../../packages/core/include -o libsaxpy.so saxpy.cu
 *
 * Typed: operands x and y f32[n], attribute a f32; the result is a * x + y and has the memory of y. The untyped
 * function does the same with a and n in the opaque string. */
#include <cuda_runtime.h>
#include <tenon/xla_custom_call.h>
#include <tenon/xla_handler.h>
#include <tenon/xla_mark.h>

__global__ void saxpy_kernel(float a, const float *x, float *y, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}

TN_XLA_EXPORT tn_xla_error_t *saxpy_nvcc(tn_xla_call_frame_t *frame) {
  static const tn_xla_signature_t signature = {3, TN_XLA_EXECUTE, TN_XLA_TRAIT_COMMAND_BUFFER_COMPATIBLE, 2, 1, 1};
  tn_xla_reader_t in;
  if (!tn_xla_open(&in, frame, &signature)) return in.error;
  const tn_xla_buffer_t *x = tn_xla_arg(&in, 0, TN_XLA_F32, 1), *y = tn_xla_arg(&in, 1, TN_XLA_F32, 1);
  const tn_xla_buffer_t *out = tn_xla_ret(&in, 0, TN_XLA_F32, 1);
  const float a = tn_xla_attr_f32(&in, NULL, "a");
  if (!tn_xla_complete(&in)) return in.error;
  if (out->data != y->data || x->dims[0] != y->dims[0])
    return tn_xla_fail(frame, TN_XLA_INVALID_ARGUMENT, "the result must lie where y does, and x must be as long as y");
  tn_xla_stream_get_args_t args = {sizeof args, NULL, frame->ctx, NULL};
  tn_xla_error_t *error = frame->api->stream_get(&args);
  if (error != NULL) return error;
  const unsigned n = (unsigned)x->dims[0];
  saxpy_kernel<<<(n + 255) / 256, 256, 0, (cudaStream_t)args.stream>>>(a, (const float *)x->data, (float *)y->data, n);
  const cudaError_t result = cudaGetLastError();
  return result == cudaSuccess ? NULL : tn_xla_fail(frame, TN_XLA_INTERNAL, "%s", cudaGetErrorString(result));
}
TN_XLA_MARK_TYPED(saxpy_nvcc);

struct SaxpyOptions {
  float a;
  unsigned n;
};

/* ORIGINAL on CUDA, which cannot report a failure and cannot check its buffers. */
TN_XLA_EXPORT void saxpy_nvcc_untyped(void *stream, void **buffers, const char *opaque, size_t opaque_length) {
  SaxpyOptions options;
  if (opaque_length != sizeof options) return;
  memcpy(&options, opaque, sizeof options);
  saxpy_kernel<<<(options.n + 255) / 256, 256, 0, (cudaStream_t)stream>>>(options.a, (const float *)buffers[0],
                                                                         (float *)buffers[1], options.n);
}
