/* message.c: untrusted messages. A reader can walk every accepted message to its exact end. */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz/pools/message_walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  /* A copy of the exact size, so that the sanitizer finds an access after the end. */
  uint8_t *copy = malloc(size > 0 ? size : 1);
  if (copy == NULL) return 0;
  if (size > 0) memcpy(copy, data, size);
  for (size_t descriptors = 0; descriptors < 2; descriptors++) {
    const char *fault = tn_frame_check(copy, size, descriptors) == TN_OK ? frame_fault(copy, size) : NULL;
    if (fault == NULL) continue;
    fprintf(stderr, "an accepted message is wrong: %s\n", fault);
    abort();
  }
  free(copy);
  return 0;
}
