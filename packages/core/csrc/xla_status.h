/* The inside of XlaCustomCallStatus. All zeroes is success; whoever makes one clears it. */
#ifndef TENON_XLA_STATUS_H
#define TENON_XLA_STATUS_H

#include "internal.h"
#include "tenon/xla_custom_call.h"

struct XlaCustomCallStatus_ {
  int32_t failed;
  size_t length;
  char *message; /* not NUL-terminated; null when empty */
};

/* Back to success; frees the message. */
void tn__xla_status_clear(XlaCustomCallStatus *status);

#endif
