/* Handlers that enqueue work on a stream of CUDA. They are told the driver's functions by their addresses, so that this library
 * needs no driver to be built or loaded; one that is compiled by nvcc, as saxpy.cu, calls the runtime's. */
#include <tenon/xla_custom_call.h>
#include <tenon/xla_handler.h>
#include <tenon/xla_mark.h>

typedef int32_t launch_t(void *kernel, uint32_t grid_x, uint32_t grid_y, uint32_t grid_z, uint32_t block_x, uint32_t block_y,
                         uint32_t block_z, uint32_t shared_bytes, void *stream, void **parameters, void **extra);
typedef int32_t copy_t(uint64_t to, uint64_t from, size_t size, void *stream);

enum { BLOCK = 256 };

/* saxpy(float a, const float *x, float *y, unsigned n), as many threads as elements. */
static int32_t launch_saxpy(int64_t launch, int64_t kernel, void *stream, float a, void *x, void *y, uint32_t n) {
  void *parameters[] = {&a, &x, &y, &n};
  return ((launch_t *)(uintptr_t)launch)((void *)(uintptr_t)kernel, (n + BLOCK - 1) / BLOCK, 1, 1, BLOCK, 1, 1, 0, stream,
                                         parameters, NULL);
}

/* y f32[n] += a (f32) * x f32[n]: operands x and y, the result in the place of y. `launch` and `kernel` (s64) are the addresses
 * of cuLaunchKernel and the CUfunction. */
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
    return tn_xla_fail(frame, TN_XLA_INVALID_ARGUMENT, "the result must lie where y does, and x be as long");
  tn_xla_stream_get_args_t args = {sizeof args, NULL, frame->ctx, NULL};
  tn_xla_error_t *error = frame->api->stream_get(&args);
  if (error != NULL) return error;
  const int32_t result = launch_saxpy(launch, kernel, args.stream, a, x->data, y->data, (uint32_t)x->dims[0]);
  return result == 0 ? NULL : tn_xla_fail(frame, TN_XLA_INTERNAL, "cuLaunchKernel gave CUDA result %d", result);
}

TN_XLA_EXPORT tn_xla_error_t *cuda_saxpy_v1(tn_xla_call_frame_t *frame) {
  return saxpy(frame, 1, TN_XLA_TRAIT_COMMAND_BUFFER_COMPATIBLE);
}
TN_XLA_MARK_TYPED(cuda_saxpy_v1);
TN_XLA_EXPORT tn_xla_error_t *cuda_saxpy_v2(tn_xla_call_frame_t *frame) {
  return saxpy(frame, 2, TN_XLA_TRAIT_COMMAND_BUFFER_COMPATIBLE);
}
TN_XLA_MARK_TYPED(cuda_saxpy_v2);
TN_XLA_EXPORT tn_xla_error_t *cuda_saxpy_v3(tn_xla_call_frame_t *frame) {
  return saxpy(frame, 3, TN_XLA_TRAIT_COMMAND_BUFFER_COMPATIBLE);
}
TN_XLA_MARK_TYPED(cuda_saxpy_v3);

/* The same without the trait. */
TN_XLA_EXPORT tn_xla_error_t *cuda_saxpy_eager(tn_xla_call_frame_t *frame) { return saxpy(frame, 3, 0); }
TN_XLA_MARK_TYPED(cuda_saxpy_eager);

/* y f32[n] = x f32[n], through memory of the device that it asks for; `copy` (s64) is the address of cuMemcpyDtoDAsync_v2. The
 * memory is given back before the copies are done: the stream's order makes that right. `forget` (pred): it is not. It says that
 * it can be captured, which is not true. */
TN_XLA_EXPORT tn_xla_error_t *cuda_copy_through_scratch(tn_xla_call_frame_t *frame) {
  static const tn_xla_signature_t signature = {.minor = 3,
                                               .stage = TN_XLA_EXECUTE,
                                               .traits = TN_XLA_TRAIT_COMMAND_BUFFER_COMPATIBLE,
                                               .args = 1,
                                               .rets = 1,
                                               .attrs = 2};
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
  return result == 0 ? NULL : tn_xla_fail(frame, TN_XLA_INTERNAL, "cuMemcpyDtoDAsync gave CUDA result %d", result);
}
TN_XLA_MARK_TYPED(cuda_copy_through_scratch);

/* The opaque string of the untyped ones. */
typedef struct {
  int64_t launch, kernel;
  float a;
  uint32_t n;
} saxpy_options_t;

/* Untyped, ORIGINAL on CUDA: buffers x, y, and the result, which is y. */
TN_XLA_EXPORT void cuda_saxpy_original(void *stream, void **buffers, const char *opaque, size_t opaque_length) {
  saxpy_options_t options;
  if (opaque_length != sizeof options) return;
  memcpy(&options, opaque, sizeof options);
  launch_saxpy(options.launch, options.kernel, stream, options.a, buffers[0], buffers[1], options.n);
}

/* Likewise with a status. */
TN_XLA_EXPORT void cuda_saxpy_status(void *stream, void **buffers, const char *opaque, size_t opaque_length,
                                     XlaCustomCallStatus *status) {
  static const char wrong[] = "the opaque string is not that of saxpy", failed[] = "cuLaunchKernel failed";
  saxpy_options_t options;
  if (opaque_length != sizeof options) {
    XlaCustomCallStatusSetFailure(status, wrong, sizeof wrong - 1);
    return;
  }
  memcpy(&options, opaque, sizeof options);
  if (launch_saxpy(options.launch, options.kernel, stream, options.a, buffers[0], buffers[1], options.n) != 0)
    XlaCustomCallStatusSetFailure(status, failed, sizeof failed - 1);
}
