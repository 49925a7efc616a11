/* Marks with which tools recognise a custom call of a library without calling it.
 *
 * It is not safe to call a symbol to find out whether it is a custom call, or its convention. A mark is a byte of
 * read-only data, exported under the function's name and a suffix. `tenon inspect` lists the marked functions, and
 * `tenon call` reads the convention from the mark. A mark is exported even if the library is built with hidden
 * visibility, so export the function too (TN_XLA_EXPORT).
 *
 *   convention          mark                                 exported as
 *   typed (xla_ffi.h)   TN_XLA_MARK_TYPED(name)              name__xla_ffi
 *   ORIGINAL            TN_XLA_MARK_HOST(name)               name__xla_host
 *   STATUS_RETURNING    TN_XLA_MARK_HOST_STATUS(name)        name__xla_host_status
 *   UNIFIED             TN_XLA_MARK_HOST_UNIFIED(name)       name__xla_host_unified
 *
 * Example, at file scope:
 *
 *   TN_XLA_EXPORT tn_xla_error_t *scale(tn_xla_call_frame_t *frame) { ... }
 *   TN_XLA_MARK_TYPED(scale);
 */
#ifndef TENON_XLA_MARK_H
#define TENON_XLA_MARK_H

#if defined(_WIN32)
#define TN_XLA_VISIBLE __declspec(dllexport)
#else
#define TN_XLA_VISIBLE __attribute__((visibility("default")))
#endif

/* Exports a function, with C linkage. */
#ifdef __cplusplus
#define TN_XLA_EXPORT extern "C" TN_XLA_VISIBLE
#else
#define TN_XLA_EXPORT extern TN_XLA_VISIBLE
#endif

/* The declaration is needed because constants have internal linkage in C++. */
#define TN_XLA_MARK(symbol)                 \
  TN_XLA_EXPORT const unsigned char symbol; \
  const unsigned char symbol = 1

#define TN_XLA_MARK_TYPED(name) TN_XLA_MARK(name##__xla_ffi)
#define TN_XLA_MARK_HOST(name) TN_XLA_MARK(name##__xla_host)
#define TN_XLA_MARK_HOST_STATUS(name) TN_XLA_MARK(name##__xla_host_status)
#define TN_XLA_MARK_HOST_UNIFIED(name) TN_XLA_MARK(name##__xla_host_unified)

#endif
