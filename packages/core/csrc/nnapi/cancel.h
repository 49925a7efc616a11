/* The end of runs before they are done, at the request of another process. */
#pragma once

#include <stdint.h>

/* The bytes of a result, or as many elements, between two looks at whether the run should end. */
enum { TN_NN__BLOCK = 1 << 20 };

/* Whether the run should end. Operations that take long look at it again and again. */
int tn_nn__is_cancelled(void);

/* Counts the elements that a loop does. Looks at whether the run should end once for each block of them. */
static inline int tn_nn__ends_after(uint64_t *done, uint64_t more) {
  *done += more;
  if (__builtin_expect(*done < TN_NN__BLOCK, 1)) return 0;
  *done = 0;
  return tn_nn__is_cancelled();
}
