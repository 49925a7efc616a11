/* Functions of the document of XLA's custom calls. */
#include <cstring>

#include "xla/service/custom_call_status.h"
#include "xla/service/custom_call_target_registry.h"

namespace {

// example: cpu
void do_custom_call(void *out, const void **in) {
  float *out_buf = reinterpret_cast<float *>(out);
  const float *in0 = reinterpret_cast<const float *>(in[0]);
  const float *in1 = reinterpret_cast<const float *>(in[1]);
  for (int i = 0; i < 2048; ++i) {
    out_buf[i] = in0[i % 128] + in1[i];
  }
}
XLA_REGISTER_CUSTOM_CALL_TARGET(do_custom_call, "Host");
// end

// example: status
void do_checked_call(void *out, const void **in, XlaCustomCallStatus *status) {
  const bool bad_condition = *static_cast<const float *>(in[0]) < 0;
  if (bad_condition) {
    const char *error_message = "An error occurred";
    XlaCustomCallStatusSetFailure(status, error_message, strlen(error_message));
    return;
  }
  *static_cast<float *>(out) = *static_cast<const float *>(in[0]);
}
XLA_REGISTER_CUSTOM_CALL_TARGET(do_checked_call, "Host");
// end

// example: tuples
void do_tuple_call(void *out, const void **in) {
  const void *const *p0 = static_cast<const void *const *>(in[0]);
  const void *const *subtuple = static_cast<const void *const *>(p0[1]);
  float **results = static_cast<float **>(out);
  results[0][0] = static_cast<const float *>(p0[0])[31] + static_cast<const float *>(subtuple[1])[127];
  results[1][0] = static_cast<const float *>(subtuple[0])[63] + static_cast<const float *>(p0[2])[255];
}
XLA_REGISTER_CUSTOM_CALL_TARGET(do_tuple_call, "Host");
// end

}  // namespace
