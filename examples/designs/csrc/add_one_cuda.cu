/* The function for CUDA of tvm-ffi's quick start, which nvcc compiles. */
#include <cuda_runtime.h>
#include <tenon/packed_func.h>

using namespace tenon;

// example: addOneCuda
__global__ void AddOneKernel(const float *x, float *y, int64_t n) {
  const int64_t idx = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (idx < n) y[idx] = x[idx] + 1;
}

void AddOneCUDA(DLTensor *x, DLTensor *y) {
  const int64_t n = x->shape[0];
  if (y->shape[0] != n) throw Error("ValueError", "x and y must have the same shape");
  const int64_t threads = 256;
  const int64_t blocks = (n + threads - 1) / threads;
  // The stream that the caller has chosen for the device.
  auto stream = static_cast<cudaStream_t>(TVMFFIEnvGetStream(x->device.device_type, x->device.device_id));
  AddOneKernel<<<blocks, threads, 0, stream>>>(static_cast<float *>(x->data), static_cast<float *>(y->data), n);
  if (cudaError_t error = cudaGetLastError()) throw Error("RuntimeError", cudaGetErrorString(error));
}

TN_TYPED_PACKED_FUNC(add_one_cuda, AddOneCUDA);
// end
