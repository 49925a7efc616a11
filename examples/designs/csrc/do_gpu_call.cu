/* The functions for CUDA of XLA's document of custom calls, which nvcc compiles. */
#include <cuda_runtime.h>
#include <tenon/xla_handler.h>
#include <tenon/xla_mark.h>

#include "xla/service/custom_call_target_registry.h"

// example: gpu
__global__ void custom_call_kernel(const float *in0, const float *in1, float *out) {
  const size_t idx = blockIdx.x * blockDim.x + threadIdx.x;
  out[idx] = in0[idx % 128] + in1[idx];
}

void do_gpu_call(void *stream, void **buffers, const char *, size_t) {
  const float *in0 = static_cast<const float *>(buffers[0]);
  const float *in1 = static_cast<const float *>(buffers[1]);
  float *out = static_cast<float *>(buffers[2]);
  const int block_dim = 64, grid_dim = 2048 / block_dim;
  custom_call_kernel<<<grid_dim, block_dim, 0, static_cast<cudaStream_t>(stream)>>>(in0, in1, out);
}
XLA_REGISTER_CUSTOM_CALL_TARGET(do_gpu_call, "CUDA");
// end

// example: typedGpu
TN_XLA_EXPORT tn_xla_error_t *do_typed_gpu_call(tn_xla_call_frame_t *frame) {
  static const tn_xla_signature_t signature = {1, TN_XLA_EXECUTE, 0, /*args=*/2, /*rets=*/1, /*attrs=*/0};
  tn_xla_reader_t call;
  if (!tn_xla_open(&call, frame, &signature)) return call.error;
  const tn_xla_buffer_t *in0 = tn_xla_arg(&call, 0, TN_XLA_F32, 1), *in1 = tn_xla_arg(&call, 1, TN_XLA_F32, 1);
  const tn_xla_buffer_t *out = tn_xla_ret(&call, 0, TN_XLA_F32, 1);
  if (!tn_xla_complete(&call)) return call.error;
  if (in0->dims[0] != 128 || in1->dims[0] != 2048 || out->dims[0] != 2048)
    return tn_xla_fail(frame, TN_XLA_INVALID_ARGUMENT, "unexpected dimensions");
  // The stream that the caller has prepared the call with.
  tn_xla_stream_get_args_t args = {sizeof args, NULL, frame->ctx, NULL};
  if (tn_xla_error_t *error = frame->api->stream_get(&args)) return error;
  const int block_dim = 64, grid_dim = 2048 / block_dim;
  custom_call_kernel<<<grid_dim, block_dim, 0, static_cast<cudaStream_t>(args.stream)>>>(
      static_cast<const float *>(in0->data), static_cast<const float *>(in1->data), static_cast<float *>(out->data));
  return NULL;
}
TN_XLA_MARK_TYPED(do_typed_gpu_call);
// end
