/* A kernel of TVM to 0.20 in a library that has no further symbols. */
#include "legacy.h"

/* Returns half of its argument, a float. */
PACKED(halve) {
  if (num_args != 1 || codes[0] != kTVMArgFloat) return -1;
  return give_float(ret, ret_code, args[0].v_float64 / 2);
}
