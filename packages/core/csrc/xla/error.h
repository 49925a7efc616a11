/* The checks of arguments of functions of the table. */
#pragma once

#include "internal.h"

/* Returns null, or an error that says which arguments are null or too short. They start with their size. */
tn_xla_error_t *tn__xla_check_size(const char *what, size_t expected, const void *args);

/* Makes a function of the table return an error if its `args` are null or too short. */
#define CHECK_SIZE(name, expected)                                                            \
  do {                                                                                        \
    tn_xla_error_t *wrong_args = tn__xla_check_size("XLA_FFI_" name "_Args", expected, args); \
    if (wrong_args != NULL) return wrong_args;                                                \
  } while (0)
