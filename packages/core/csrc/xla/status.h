/* What the core does with XlaCustomCallStatus, whose inside is in tenon_xla.h. */
#ifndef TENON_XLA_STATUS_H
#define TENON_XLA_STATUS_H

#include "../base/internal.h"
#include "tenon/xla_custom_call.h"
#include "tenon_xla.h"

/* Back to success; frees the message. */
void tn__xla_status_clear(XlaCustomCallStatus *status);

#endif
