/* Watching a descriptor, which Windows does not have. */
#include "../internal.h"

int32_t tn_watch_open(int32_t descriptor, int32_t *out) {
  (void)descriptor, (void)out;
  return tn__fail(TN_UNSUPPORTED, "descriptors cannot be watched on Windows");
}
