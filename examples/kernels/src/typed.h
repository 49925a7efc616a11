/* The export of handlers that differ only in the version of the ABI for which they are written. */
#ifndef TENON_KERNELS_TYPED_H
#define TENON_KERNELS_TYPED_H

#include <tenon/xla_handler.h>
#include <tenon/xla_mark.h>

/* Defines, exports and marks the typed handler `name`, which returns `result`, an expression of its `frame`. */
#define TYPED_HANDLER(name, result)                                                 \
  TN_XLA_EXPORT tn_xla_error_t *name(tn_xla_call_frame_t *frame) { return result; } \
  TN_XLA_MARK_TYPED(name)

#endif
