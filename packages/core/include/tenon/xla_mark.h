/* Marks that tell tools what a function of a library is, without calling it.
 *
 * No call can find out safely whether a symbol is a custom call, and of which convention. A mark is a byte of read-only
 * data, exported beside the function under the function's name and a suffix; `tenon inspect` lists what is marked, and
 * `tenon call` takes the convention from it. A mark costs one byte and changes nothing else; it also exports the name
 * from a library that is built with hidden visibility, so give the function the same visibility (TN_XLA_EXPORT).
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

/* Before a function: exported, with C linkage. */
#ifdef __cplusplus
#define TN_XLA_EXPORT extern "C" TN_XLA_VISIBLE
#else
#define TN_XLA_EXPORT extern TN_XLA_VISIBLE
#endif

/* Declared first: without it the constant would be internal in C++. */
#define TN_XLA_MARK(symbol)                 \
  TN_XLA_EXPORT const unsigned char symbol; \
  const unsigned char symbol = 1

#define TN_XLA_MARK_TYPED(name) TN_XLA_MARK(name##__xla_ffi)
#define TN_XLA_MARK_HOST(name) TN_XLA_MARK(name##__xla_host)
#define TN_XLA_MARK_HOST_STATUS(name) TN_XLA_MARK(name##__xla_host_status)
#define TN_XLA_MARK_HOST_UNIFIED(name) TN_XLA_MARK(name##__xla_host_unified)

#endif
