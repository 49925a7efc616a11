/* A kernel with a defect: it writes to an invalid address. */
#include <tenon/kernel.h>

static char *volatile nowhere;

TN_KERNEL(write_nowhere, "(features: f32[n, d], weights: f32[d], query: f32[d]) -> (scores: f32[n]) -- Crashes.") {
  (void)in;
  *nowhere = 1;
}
