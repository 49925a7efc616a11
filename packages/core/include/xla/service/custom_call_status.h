/* The functions that set the status of a call, under the name that sources for XLA include. */
#ifndef TENON_XLA_SERVICE_CUSTOM_CALL_STATUS_H
#define TENON_XLA_SERVICE_CUSTOM_CALL_STATUS_H

#include "tenon/xla_custom_call.h"

#endif
