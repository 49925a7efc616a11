/* Handlers that enqueue work on a CUDA stream. The addresses of the driver's functions are attributes, so this library
 * can be built and loaded without a driver. A handler that nvcc compiles, as in saxpy.cu, calls the CUDA runtime
 * instead. */
#include <tenon/xla_custom_call.h>

#include "../typed.h"

typedef int32_t launch_t(void *kernel, uint32_t grid_x, uint32_t grid_y, uint32_t grid_z, uint32_t block_x,
                         uint32_t block_y, uint32_t block_z, uint32_t shared_bytes, void *stream, void **parameters,
                         void **extra);
typedef int32_t copy_t(uint64_t to, uint64_t from, size_t size, void *stream);

enum { BLOCK = 256 };

/* Launches saxpy(float a, const float *x, float *y, unsigned n), with a thread for each element. */
static int32_t launch_saxpy(int64_t launch, int64_t kernel, void *stream, float a, void *x, void *y, uint32_t n) {
  void *parameters[] = {&a, &x, &y, &n};
  launch_t *function = (launch_t *)(uintptr_t)launch;
  return function((void *)(uintptr_t)kernel, (n + BLOCK - 1) / BLOCK, 1, 1, BLOCK, 1, 1, 0, stream, parameters, NULL);
}

/* y f32[n] += a * x f32[n]. Operands x and y; the result has the memory of y. Attributes: a (f32), and the addresses of
 * cuLaunchKernel and of the CUfunction, launch and kernel (s64). */
static tn_xla_error_t *saxpy(tn_xla_call_frame_t *frame, int32_t minor, uint32_t traits) {
  const tn_xla_signature_t signature = {
      .minor = minor, .stage = TN_XLA_EXECUTE, .traits = traits, .args = 2, .rets = 1, .attrs = 3};
  tn_xla_reader_t in;
  if (!tn_xla_open(&in, frame, &signature)) return in.error;
  const tn_xla_buffer_t *x = tn_xla_arg(&in, 0, TN_XLA_F32, 1), *y = tn_xla_arg(&in, 1, TN_XLA_F32, 1);
  const tn_xla_buffer_t *out = tn_xla_ret(&in, 0, TN_XLA_F32, 1);
  const float a = tn_xla_attr_f32(&in, NULL, "a");
  const int64_t kernel = tn_xla_attr_s64(&in, NULL, "kernel"), launch = tn_xla_attr_s64(&in, NULL, "launch");
  if (!tn_xla_complete(&in)) return in.error;
  if (out->data != y->data || x->dims[0] != y->dims[0])
    return tn_xla_fail(frame, TN_XLA_INVALID_ARGUMENT, "the result must lie where y does, and x must be as long as y");
  tn_xla_stream_get_args_t args = {sizeof args, NULL, frame->ctx, NULL};
  tn_xla_error_t *error = frame->api->stream_get(&args);
  if (error != NULL) return error;
  const int32_t result = launch_saxpy(launch, kernel, args.stream, a, x->data, y->data, (uint32_t)x->dims[0]);
  return result == 0 ? NULL : tn_xla_fail(frame, TN_XLA_INTERNAL, "cuLaunchKernel failed with CUDA result %d", result);
}

TYPED_HANDLER(cuda_saxpy_v1, saxpy(frame, 1, TN_XLA_TRAIT_COMMAND_BUFFER_COMPATIBLE));
TYPED_HANDLER(cuda_saxpy_v2, saxpy(frame, 2, TN_XLA_TRAIT_COMMAND_BUFFER_COMPATIBLE));
TYPED_HANDLER(cuda_saxpy_v3, saxpy(frame, 3, TN_XLA_TRAIT_COMMAND_BUFFER_COMPATIBLE));
/* Without the trait, so that the handler is not captured. */
TYPED_HANDLER(cuda_saxpy_eager, saxpy(frame, 3, 0));

/* y f32[n] = x f32[n], through memory of the device from the runtime. Attributes: copy (s64), the address of
 * cuMemcpyDtoDAsync_v2, and forget (pred), whether to leak the memory. The memory is freed before the copies are done,
 * which the order of the stream makes safe. The trait is wrong on purpose, because the memory is not valid when a
 * captured graph runs. */
TN_XLA_EXPORT tn_xla_error_t *cuda_copy_through_scratch(tn_xla_call_frame_t *frame) {
  static const uint32_t traits = TN_XLA_TRAIT_COMMAND_BUFFER_COMPATIBLE;
  const tn_xla_signature_t signature = {
      .minor = 3, .stage = TN_XLA_EXECUTE, .traits = traits, .args = 1, .rets = 1, .attrs = 2};
  tn_xla_reader_t in;
  if (!tn_xla_open(&in, frame, &signature)) return in.error;
  const tn_xla_buffer_t *x = tn_xla_arg(&in, 0, TN_XLA_F32, 1);
  const tn_xla_buffer_t *y = tn_xla_ret(&in, 0, TN_XLA_F32, 1);
  copy_t *copy = (copy_t *)(uintptr_t)tn_xla_attr_s64(&in, NULL, "copy");
  const int forgets = tn_xla_attr_pred(&in, NULL, "forget");
  if (!tn_xla_complete(&in)) return in.error;
  if (!tn_xla_same_shape(x, y)) return tn_xla_fail(frame, TN_XLA_INVALID_ARGUMENT, "y must have the shape of x");
  const size_t size = (size_t)x->dims[0] * sizeof(float);
  tn_xla_stream_get_args_t stream = {sizeof stream, NULL, frame->ctx, NULL};
  tn_xla_error_t *error = frame->api->stream_get(&stream);
  if (error != NULL) return error;
  tn_xla_memory_allocate_args_t memory = {sizeof memory, NULL, frame->ctx, size, 16, NULL};
  error = frame->api->memory_allocate(&memory);
  if (error != NULL) return error;
  int32_t result = copy((uint64_t)(uintptr_t)memory.data, (uint64_t)(uintptr_t)x->data, size, stream.stream);
  if (result == 0) result = copy((uint64_t)(uintptr_t)y->data, (uint64_t)(uintptr_t)memory.data, size, stream.stream);
  if (!forgets) {
    tn_xla_memory_free_args_t args = {sizeof args, NULL, frame->ctx, size, memory.data};
    error = frame->api->memory_free(&args);
  }
  if (error != NULL) return error;
  if (result == 0) return NULL;
  return tn_xla_fail(frame, TN_XLA_INTERNAL, "cuMemcpyDtoDAsync failed with CUDA result %d", result);
}
TN_XLA_MARK_TYPED(cuda_copy_through_scratch);

/* The opaque string of the untyped functions. */
typedef struct {
  int64_t launch, kernel;
  float a;
  uint32_t n;
} saxpy_options_t;

/* Launches the kernel with the options in `opaque`, on x and y. Returns null or the text of a failure. */
static const char *launch_with(const char *opaque, size_t opaque_length, void *stream, void **buffers) {
  saxpy_options_t options;
  if (opaque_length != sizeof options) return "the opaque string is not that of saxpy";
  memcpy(&options, opaque, sizeof options);
  const int32_t result =
      launch_saxpy(options.launch, options.kernel, stream, options.a, buffers[0], buffers[1], options.n);
  return result == 0 ? NULL : "cuLaunchKernel failed";
}

/* Untyped, ORIGINAL on CUDA: the buffers are x, y, and the result, which is y. This convention cannot report a
 * failure. */
TN_XLA_EXPORT void cuda_saxpy_original(void *stream, void **buffers, const char *opaque, size_t opaque_length) {
  launch_with(opaque, opaque_length, stream, buffers);
}

/* Untyped on CUDA, with a status. */
TN_XLA_EXPORT void cuda_saxpy_status(void *stream, void **buffers, const char *opaque, size_t opaque_length,
                                     XlaCustomCallStatus *status) {
  const char *failure = launch_with(opaque, opaque_length, stream, buffers);
  if (failure != NULL) XlaCustomCallStatusSetFailure(status, failure, strlen(failure));
}
