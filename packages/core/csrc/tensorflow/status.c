/* Status objects, which kernels make and functions of the API set. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "internal.h"

typedef struct payload {
  struct payload *next;
  char *value;
  char key[];
} payload_t;

struct TF_Status {
  TF_Code code;
  char *message; /* null if it is empty */
  payload_t *payloads;
};

TF_Status *TF_NewStatus(void) {
  TF_Status *status = malloc(sizeof *status);
  if (status != NULL) *status = (TF_Status){.code = TF_OK};
  return status;
}

static void clear(TF_Status *status) {
  if (status->message != NULL) free(status->message);
  for (payload_t *one = status->payloads, *next; one != NULL; one = next) {
    next = one->next;
    free(one->value);
    free(one);
  }
  *status = (TF_Status){.code = TF_OK};
}

void TF_DeleteStatus(TF_Status *status) {
  if (status == NULL) return;
  clear(status);
  free(status);
}

void TF_SetStatus(TF_Status *status, TF_Code code, const char *message) {
  if (status == NULL) return;
  char *copy = code == TF_OK || message == NULL || *message == '\0' ? NULL : strdup(message);
  clear(status); /* the message may be that of the status */
  status->code = code;
  status->message = copy;
}

void tn__tf_ok(TF_Status *status) {
  if (status != NULL && (status->code != TF_OK || status->payloads != NULL)) clear(status);
}

TF_Code TF_GetCode(const TF_Status *status) { return status == NULL ? TF_OK : status->code; }

const char *TF_Message(const TF_Status *status) {
  return status == NULL || status->message == NULL ? "" : status->message;
}

void TF_SetPayload(TF_Status *status, const char *key, const char *value) {
  if (status == NULL || status->code == TF_OK || key == NULL || value == NULL) return;
  payload_t **at = &status->payloads;
  while (*at != NULL && strcmp((*at)->key, key) != 0) at = &(*at)->next;
  char *copy = strdup(value);
  if (copy == NULL) return;
  if (*at == NULL) {
    if ((*at = malloc(sizeof(payload_t) + strlen(key) + 1)) == NULL) return free(copy);
    **at = (payload_t){NULL};
    strcpy((*at)->key, key);
  }
  free((*at)->value);
  (*at)->value = copy;
}

void TF_ForEachPayload(const TF_Status *status, TF_PayloadVisitor visitor, void *capture) {
  for (const payload_t *one = status->payloads; one != NULL; one = one->next) visitor(one->key, one->value, capture);
}

static TF_Code code_of(int error) {
  switch (error) {
    case 0: return TF_OK;
    case EINVAL: case ENAMETOOLONG: case E2BIG: case EDESTADDRREQ: case EDOM: case EFAULT: case EILSEQ: case ENOPROTOOPT:
    case ENOTSOCK: case ENOTTY: case EPROTOTYPE: case ESPIPE: return TF_INVALID_ARGUMENT;
    case ETIMEDOUT: return TF_DEADLINE_EXCEEDED;
    case ENODEV: case ENOENT: case ENXIO: case ESRCH: return TF_NOT_FOUND;
    case EEXIST: case EADDRNOTAVAIL: case EALREADY: return TF_ALREADY_EXISTS;
    case EPERM: case EACCES: case EROFS: return TF_PERMISSION_DENIED;
    case ENOTEMPTY: case EISDIR: case ENOTDIR: case EADDRINUSE: case EBADF: case EBUSY: case ECHILD: case EISCONN: case ENOTCONN:
    case EPIPE: case ETXTBSY: return TF_FAILED_PRECONDITION;
    case ENOSPC: case EMFILE: case EMLINK: case ENFILE: case ENOBUFS: case ENOMEM: return TF_RESOURCE_EXHAUSTED;
    case EFBIG: case EOVERFLOW: case ERANGE: return TF_OUT_OF_RANGE;
    case ENOSYS: case ENOTSUP: case EAFNOSUPPORT: case EPFNOSUPPORT: case EPROTONOSUPPORT: case EXDEV: return TF_UNIMPLEMENTED;
    case EAGAIN: case ECONNREFUSED: case ECONNABORTED: case ECONNRESET: case EINTR: case EHOSTUNREACH: case ENETDOWN:
    case ENETRESET: case ENETUNREACH: case ENOLCK: return TF_UNAVAILABLE;
    case EDEADLK: return TF_ABORTED;
    case ECANCELED: return TF_CANCELLED;
    default: return TF_UNKNOWN;
  }
}

void TF_SetStatusFromIOError(TF_Status *status, int error_code, const char *context) {
  tn__tf_set(status, code_of(error_code), "%s; %s", context == NULL ? "" : context, strerror(error_code));
}

static void set_formatted(TF_Status *status, TF_Code code, const char *format, va_list arguments) {
  char message[1024];
  vsnprintf(message, sizeof message, format, arguments);
  TF_SetStatus(status, code, message);
}

void tn__tf_set(TF_Status *status, TF_Code code, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  set_formatted(status, code, format, arguments);
  va_end(arguments);
}

/* Threads of a kernel may fail at the same time. */
static void keep(uint64_t *place, TF_Status *failure) {
  uint64_t none = 0;
  if (!__atomic_compare_exchange_n(place, &none, (uintptr_t)failure, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) TF_DeleteStatus(failure);
}

void tn__tf_keep_failure(uint64_t *place, const TF_Status *status) {
  TF_Status *copy = TF_NewStatus();
  if (copy == NULL) return;
  /* A failure that has the code of success is still one. */
  TF_SetStatus(copy, TF_GetCode(status) == TF_OK ? TF_UNKNOWN : status->code, TF_Message(status));
  for (const payload_t *one = status->payloads; one != NULL; one = one->next) TF_SetPayload(copy, one->key, one->value);
  keep(place, copy);
}

void tn__tf_fail(uint64_t *place, TF_Code code, const char *format, ...) {
  TF_Status *status = TF_NewStatus();
  va_list arguments;
  va_start(arguments, format);
  set_formatted(status, code, format, arguments);
  va_end(arguments);
  keep(place, status);
}

static void put_size(tn__tf_list_t *list, size_t size) { tn__tf_put(list, &(uint32_t){(uint32_t)size}, sizeof(uint32_t)); }

int32_t tn_tf_failure(uint64_t failure, char *out, size_t capacity, size_t *length) {
  TF_Status *status = tn__tf_pointer(failure);
  tn__tf_list_t list = {out, capacity, 0};
  size_t payloads = 0;
  for (const payload_t *one = status->payloads; one != NULL; one = one->next) payloads++;
  put_size(&list, (size_t)status->code);
  put_size(&list, strlen(TF_Message(status)));
  put_size(&list, payloads);
  tn__tf_put(&list, TF_Message(status), strlen(TF_Message(status)));
  for (const payload_t *one = status->payloads; one != NULL; one = one->next) {
    put_size(&list, strlen(one->key));
    put_size(&list, strlen(one->value));
    tn__tf_put(&list, one->key, strlen(one->key));
    tn__tf_put(&list, one->value, strlen(one->value));
  }
  *length = list.length;
  if (list.length <= capacity) TF_DeleteStatus(status);
  return TN_OK;
}
