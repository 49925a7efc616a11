/* The untyped custom-call conventions of XLA. They are plain C functions and older than the typed calls of xla_ffi.h.
 *
 * The caller must know the convention of such a function, because the function itself does not show it. Buffers are
 * borrowed for the call, operands are read-only, and results are undefined on entry. A buffer without elements may be
 * null.
 *
 *   convention          Host                         CUDA, ROCm (called on the host; buffers are device pointers)
 *   ORIGINAL            tn_xla_host_call_t           tn_xla_device_call_t
 *   STATUS_RETURNING    tn_xla_host_status_call_t    tn_xla_device_status_call_t
 *   UNIFIED             tn_xla_host_unified_call_t   tn_xla_device_status_call_t
 *
 * Example: A[i] = B[i % 128] + C[i], ORIGINAL on the Host.
 *
 *   #include <tenon/xla_custom_call.h>
 *
 *   void do_custom_call(void *out, const void **in) {
 *     float *a = out;
 *     const float *b = in[0], *c = in[1];
 *     for (int i = 0; i < 2048; ++i) a[i] = b[i % 128] + c[i];
 *   }
 */
#ifndef TENON_XLA_CUSTOM_CALL_H
#define TENON_XLA_CUSTOM_CALL_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The conventions, with the numbers of compiled programs. */
enum {
  TN_XLA_CALL_UNSPECIFIED = 0,
  TN_XLA_CALL_ORIGINAL = 1,
  TN_XLA_CALL_STATUS_RETURNING = 2,
  TN_XLA_CALL_UNIFIED = 3,
  TN_XLA_CALL_TYPED_FFI = 4
};

/* The status of a call: success, unless the function sets a failure. */
typedef struct XlaCustomCallStatus_ XlaCustomCallStatus;

/* `in[k]` is the data of operand k, or its array of pointers if it is a tuple. `out` is the data of the result, or its
 * array of pointers if it is a tuple. `in` may be null when there are no operands. */
typedef void tn_xla_host_call_t(void *out, const void **in);
typedef void tn_xla_host_status_call_t(void *out, const void **in, XlaCustomCallStatus *status);
typedef void tn_xla_host_unified_call_t(void *out, const void **in, const char *opaque, size_t opaque_length,
                                        XlaCustomCallStatus *status);

/* `buffers` holds device pointers: the leaves of all operands, then those of the result. `opaque` is an arbitrary byte
 * string whose length is authoritative. The function enqueues its work on `stream`. */
typedef void tn_xla_device_call_t(void *stream, void **buffers, const char *opaque, size_t opaque_length);
typedef void tn_xla_device_status_call_t(void *stream, void **buffers, const char *opaque, size_t opaque_length,
                                         XlaCustomCallStatus *status);

/* The calling process (Tenon's core, loaded before the kernels) defines both functions, and kernel libraries leave them
 * undefined. SetFailure copies the message up to `message_length` bytes or its first NUL. The last call wins, and
 * SetSuccess clears a failure. A failure with an empty message is still a failure. */
void XlaCustomCallStatusSetSuccess(XlaCustomCallStatus *status);
void XlaCustomCallStatusSetFailure(XlaCustomCallStatus *status, const char *message, size_t message_length);

/* Registers a function under a name for a platform ("Host", "CUDA", "ROCM"; compared exactly), for a library that does so when it is
 * loaded; xla/service/custom_call_target_registry.h has the macros of XLA for it. The first function of a name counts, and another one is
 * refused. A library that registers functions must stay loaded. The calling process defines these functions, too. */
void tn_xla_register_function(const char *name, size_t name_length, const char *platform, size_t platform_length,
                              void *function);

/* The function that is registered under a name for a platform, or null. */
void *tn_xla_registered_function(const char *name, size_t name_length, const char *platform, size_t platform_length);

#ifdef __cplusplus
}
#endif
#endif
