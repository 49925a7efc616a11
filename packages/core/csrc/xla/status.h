/* The status object of untyped calls, whose contents are in tenon_xla.h. */
#ifndef TENON_XLA_STATUS_H
#define TENON_XLA_STATUS_H

#include "../base/internal.h"
#include "tenon/xla_custom_call.h"
#include "tenon_xla.h"

/* Makes a status a success and frees its message. */
void tn__xla_status_clear(XlaCustomCallStatus *status);

#endif
