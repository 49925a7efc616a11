/* The part of CUDA's runtime that the examples use, for machines without a GPU. A host compiler compiles their sources with it after
 * `kernel<<<grid, block, shared, stream>>>(...)` was replaced by `simulated_launch(kernel, grid, block, shared, stream)(...)`. The threads of
 * a kernel run one after the other, in the order of the stream, in the memory of the simulated driver of the tests. */
#ifndef SIMULATED_CUDA_RUNTIME_H
#define SIMULATED_CUDA_RUNTIME_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>

#define __global__ static

typedef int cudaError_t;
typedef void *cudaStream_t;
struct dim3 {
  unsigned x;
};

static thread_local dim3 blockIdx, blockDim, threadIdx;
static thread_local cudaError_t simulated_error;

extern "C" int cuLaunchHostFunc(void *stream, void (*function)(void *data), void *data);

static inline cudaError_t cudaGetLastError() {
  const cudaError_t error = simulated_error;
  simulated_error = 0;
  return error;
}
static inline const char *cudaGetErrorString(cudaError_t) { return "the simulated driver has refused the launch"; }

/* The host has the memory of the simulated device at its address without this bit. */
static constexpr uintptr_t simulated_bit = uintptr_t{1} << 47;

template <typename T>
static T on_host(T value) {
  if constexpr (std::is_pointer_v<T>)
    return reinterpret_cast<T>(reinterpret_cast<uintptr_t>(value) & ~simulated_bit);
  else
    return value;
}

template <typename... P>
static auto simulated_launch(void (*kernel)(P...), unsigned grid, unsigned block, size_t, cudaStream_t stream) {
  return [=](P... arguments) {
    auto *run = new std::function<void()>([=] {
      blockDim.x = block;
      for (blockIdx.x = 0; blockIdx.x < grid; blockIdx.x++)
        for (threadIdx.x = 0; threadIdx.x < block; threadIdx.x++) kernel(on_host(arguments)...);
    });
    const auto call = [](void *data) {
      (*static_cast<std::function<void()> *>(data))();
      delete static_cast<std::function<void()> *>(data);
    };
    simulated_error = cuLaunchHostFunc(stream, call, run);
    if (simulated_error != 0) delete run;
  };
}

#endif
