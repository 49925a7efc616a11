#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "request.h"

tn__request_t *volatile tn__request_in_progress;

uint32_t tn__host_target(void) {
  const tn__request_t *request = tn__request_in_progress;
  return request == NULL ? UINT32_MAX : request->target;
}

void tn__clear_answer(tn__request_t *request) {
  tn_host_slot_t *answer = request->slot;
  answer->flags = answer->length = answer->error = answer->value = 0;
  answer->status = TN_OK;
  answer->code = 0;
  answer->native_time = 0;
}

int32_t tn__answer_error(tn__request_t *request, uint32_t error, int32_t status, const char *text, size_t length) {
  if (length > TN_HOST_BODY_SIZE) length = TN_HOST_BODY_SIZE;
  if (length > 0) memmove(request->reply, text, length);
  request->slot->error = error;
  request->slot->status = status;
  request->slot->length = (uint32_t)length;
  return status;
}

int32_t tn__refuse(tn__request_t *request, int32_t status, const char *format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return tn__answer_error(request, TN_HOST_REQUEST_ERROR, status, text, strlen(text));
}
