/* The checks of arguments of functions of the table. */
#pragma once

#include "internal.h"

/* Returns null, or an error that says which arguments are too short. */
tn_xla_error_t *tn__xla_check_size(const char *what, size_t expected, size_t actual);

/* Makes a function of the table return an error if its `args` are too short. */
#define CHECK_SIZE(name, expected)                                                                        \
  do {                                                                                                    \
    tn_xla_error_t *too_short = tn__xla_check_size("XLA_FFI_" name "_Args", expected, args->struct_size); \
    if (too_short != NULL) return too_short;                                                              \
  } while (0)
