/* One macro for a typed XLA custom call in C or C++ that says what it is.
 *
 * TN_KERNEL(name, signature) exports the signature of the kernel (tenon/signature.h), exports the handler `name`, and
 * begins the function that the handler runs. `in` is the reader of the call (tenon/xla_handler.h). The function takes
 * every operand, result and attribute, and then asks tn_xla_complete() once. To fail, it sets
 * in->error = tn_xla_fail(in->frame, TN_XLA_INVALID_ARGUMENT, "message") and returns.
 *
 * Example: softmax over the last axis.
 *
 *   #include <math.h>
 *   #include <tenon/kernel.h>
 *   TN_KERNEL(softmax, "(x: f32[..., c]) -> (y: f32[..., c]); temperature: f32 = 1") {
 *     const tn_xla_buffer_t *x = tn_xla_arg(in, 0, TN_XLA_F32, TN_XLA_ANY), *y = tn_xla_ret_like(in, 0, x);
 *     const float temperature = tn_xla_attr_f32(in, NULL, "temperature");
 *     if (!tn_xla_complete(in)) return;
 *     const int64_t count = tn_xla_element_count(x), c = tn_xla_last_size(x);
 *     for (int64_t row = 0; row < count; row += c) {
 *       const float *from = (const float *)x->data + row;
 *       float *to = (float *)y->data + row, max = -INFINITY, sum = 0;
 *       for (int64_t i = 0; i < c; ++i) max = fmaxf(max, from[i]);
 *       for (int64_t i = 0; i < c; ++i) sum += to[i] = expf((from[i] - max) / temperature);
 *       for (int64_t i = 0; i < c; ++i) to[i] /= sum;
 *     }
 *   }
 *
 * To compile it (these headers are in packages/core/include or node_modules/@tenon/core/include) and to call it:
 *
 *   gcc -O2 -shared -fPIC -I packages/core/include -o libsoftmax.so softmax.c -lm
 *   tenon call libsoftmax.so softmax --arg x.npy --temperature 2
 *
 * The handler uses the structs of XLA FFI 0.1, so every later runtime can call it, too. A handler with other stages,
 * traits or a state is written with tn_xla_open() and marked with TN_SIGNATURE.
 */
#ifndef TENON_KERNEL_H
#define TENON_KERNEL_H

#include "signature.h"
#include "xla_handler.h"
#include "xla_mark.h"

#define TN_KERNEL(name, text)                                                                            \
  TN_SIGNATURE(name, text);                                                                              \
  static void name##__body(tn_xla_reader_t *in);                                                         \
  TN_XLA_EXPORT tn_xla_error_t *name(tn_xla_call_frame_t *frame) {                                       \
    static const tn_xla_signature_t any = {1, TN_XLA_EXECUTE, 0, TN_XLA_ANY, TN_XLA_ANY, TN_XLA_ANY};    \
    tn_xla_reader_t in;                                                                                  \
    if (!tn_xla_open(&in, frame, &any)) return in.error;                                                 \
    in.takes_all = 1;                                                                                    \
    name##__body(&in);                                                                                   \
    return in.error;                                                                                     \
  }                                                                                                      \
  static void name##__body(tn_xla_reader_t *in)

#endif
