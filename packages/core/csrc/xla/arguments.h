/* The check that begins each function of the table. */
#ifndef TENON_XLA_ARGUMENTS_H
#define TENON_XLA_ARGUMENTS_H

#include "internal.h"

/* Makes the calling function return an error if its `args` are too short. */
#define CHECK_SIZE(name, expected)                                                                        \
  do {                                                                                                    \
    tn_xla_error_t *too_short = tn__xla_check_size("XLA_FFI_" name "_Args", expected, args->struct_size); \
    if (too_short != NULL) return too_short;                                                              \
  } while (0)

#endif
