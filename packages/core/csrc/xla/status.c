/* The status object of the untyped conventions. Kernel libraries expect its two functions from the runtime. */
#include <stdlib.h>

#include "internal.h"

TN_API void XlaCustomCallStatusSetSuccess(XlaCustomCallStatus *status) {
  if (status == NULL) return;
  free(status->message);
  *status = (XlaCustomCallStatus){0, 0, NULL};
}

TN_API void XlaCustomCallStatusSetFailure(XlaCustomCallStatus *status, const char *message, size_t message_length) {
  if (status == NULL) return;
  size_t length = 0;
  while (message != NULL && length < message_length && message[length] != '\0') length++;
  XlaCustomCallStatusSetSuccess(status);
  status->failed = 1;
  /* Without memory for the message, the status is still a failure. */
  status->message = length == 0 ? NULL : malloc(length);
  if (status->message == NULL) return;
  memcpy(status->message, message, length);
  status->length = length;
}
