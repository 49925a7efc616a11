/* Checking the values that functions of others return. */
#pragma once

#include "host.h"

/* Returns 0, or -1 with an error raised if a value cannot be read. The value is None then. */
int tn__check_result(TVMFFIAny *result);
