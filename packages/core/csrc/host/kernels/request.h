/* A request of the client, as the worker serves it, and its answer.
 *
 * A request is copied before it is checked, because the client may change command memory at any time. Each check that fails
 * is a TN_HOST_REQUEST_ERROR. One thread serves all requests. */
#ifndef TENON_HOST_REQUEST_H
#define TENON_HOST_REQUEST_H

#include <stddef.h>

#include "tenon_host.h"

typedef struct tn__request {
  uint64_t number;       /* of the request: from 1 */
  uint32_t index;        /* of the slot */
  tn_host_slot_t *slot;  /* in command memory, for the answer */
  uint8_t *reply;        /* in command memory, for the body of the answer */
  uint32_t operation, target;
  uint32_t count;                     /* of operands */
  const tn_host_operand_t *operands;  /* copies */
  void **addresses;                   /* of the operands: null until tn__reach_operands(), and if missing */
  uint8_t *body;                      /* a copy, aligned to 8 bytes, which may be changed */
  size_t length;
} tn__request_t;

/* The request that is served, or null. Handlers of signals read it. */
extern tn__request_t *volatile tn__request_in_progress;

/* The target of the request in progress; UINT32_MAX for none. */
uint32_t tn__host_target(void);

/* --- answers: success with an empty body until one of these functions changes it ----------------------------------- */

/* Answers with TN_HOST_REQUEST_ERROR and a message (printf-like). Returns `status`, which is not TN_OK. */
__attribute__((format(printf, 3, 4))) int32_t tn__refuse(tn__request_t *request, int32_t status, const char *format, ...);

/* Answers with an error whose message is text, which is cut if it does not fit. Returns `status`. */
int32_t tn__answer_error(tn__request_t *request, uint32_t error, int32_t status, const char *text, size_t length);

/* Makes the answer success with an empty body. */
void tn__clear_answer(tn__request_t *request);

/* Makes the calling function return TN_INVALID_ARGUMENT and refuses the request unless the condition holds. */
#define TN__CHECK(request, condition, ...)                                                 \
  do {                                                                                     \
    if (!(condition)) return tn__refuse(request, TN_INVALID_ARGUMENT, __VA_ARGS__);        \
  } while (0)

#endif
