/* Errors: objects with a kind, a message and a backtrace, and the slot of each thread for a raised error. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "internal.h"
#include "object.h"

typedef struct {
  TVMFFIObject head;
  TVMFFIErrorCell cell;
} error_t;

static void free_span(TVMFFIByteArray span) { free((void *)(uintptr_t)span.data); }

static void error_destroy(error_t *self) {
  free_span(self->cell.kind);
  free_span(self->cell.message);
  free_span(self->cell.backtrace);
  tn__release(self->cell.cause_chain);
  tn__release(self->cell.extra_context);
}
TN_DELETER(error_deleter, error_destroy)

static void update_backtrace(TVMFFIObjectHandle self, const TVMFFIByteArray *backtrace, int32_t mode) {
  TVMFFIByteArray *own = &((error_t *)self)->cell.backtrace;
  size_t kept = mode == 1 ? own->size : 0;
  char *text = malloc(kept + backtrace->size + 1);
  if (text == NULL) return; /* an error without frames is better than no error */
  if (kept > 0) memcpy(text, own->data, kept);
  if (backtrace->size > 0) memcpy(text + kept, backtrace->data, backtrace->size);
  text[kept + backtrace->size] = '\0';
  free_span(*own);
  *own = (TVMFFIByteArray){text, kept + backtrace->size};
}

int TVMFFIErrorCreateWithCauseAndExtraContext(const TVMFFIByteArray *kind, const TVMFFIByteArray *message,
                                              const TVMFFIByteArray *backtrace, TVMFFIObjectHandle cause_chain,
                                              TVMFFIObjectHandle extra_context, TVMFFIObjectHandle *out) {
  error_t *error = tn__object_new(sizeof *error, kTVMFFIError, error_deleter);
  if (error == NULL) return -1;
  error->cell.kind = (TVMFFIByteArray){tn__duplicate(*kind), kind->size};
  error->cell.message = (TVMFFIByteArray){tn__duplicate(*message), message->size};
  error->cell.backtrace = (TVMFFIByteArray){tn__duplicate(*backtrace), backtrace->size};
  error->cell.update_backtrace = update_backtrace;
  if (cause_chain != NULL) tn__retain(cause_chain);
  if (extra_context != NULL) tn__retain(extra_context);
  error->cell.cause_chain = cause_chain;
  error->cell.extra_context = extra_context;
  if (error->cell.kind.data == NULL || error->cell.message.data == NULL || error->cell.backtrace.data == NULL) {
    tn__release(error);
    return -1;
  }
  *out = error;
  return 0;
}

int TVMFFIErrorCreate(const TVMFFIByteArray *kind, const TVMFFIByteArray *message, const TVMFFIByteArray *backtrace,
                      TVMFFIObjectHandle *out) {
  return TVMFFIErrorCreateWithCauseAndExtraContext(kind, message, backtrace, NULL, NULL, out);
}

/* The error may belong to a kernel's library, so it must not outlive the call that raised it by much. A thread that
 * ends with an error in the slot leaks it, because the library of its deleter may no longer be loaded. */
static _Thread_local TVMFFIObjectHandle raised;

TVMFFIObjectHandle *tn_tvm_raised_slot(void) { return &raised; }

void TVMFFIErrorMoveFromRaised(TVMFFIObjectHandle *result) {
  *result = raised;
  raised = NULL;
}

void TVMFFIErrorSetRaised(TVMFFIObjectHandle error) {
  if (error != NULL) tn__retain(error);
  TVMFFIObjectHandle old = raised;
  raised = error;
  tn__release(old);
}

static void raise_text(const char *kind, TVMFFIByteArray message) {
  TVMFFIByteArray kind_span = {kind, strlen(kind)};
  TVMFFIObjectHandle error = NULL;
  /* Without memory for the error the slot becomes empty; the nonzero status still reports the failure. */
  TVMFFIErrorCreate(&kind_span, &message, TVMFFIBacktrace(NULL, 0, NULL, 0), &error);
  TVMFFIErrorSetRaised(error);
  tn__release(error);
}

void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message) {
  raise_text(kind, (TVMFFIByteArray){message, strlen(message)});
}

void TVMFFIErrorSetRaisedFromCStrParts(const char *kind, const char **message_parts, int32_t num_parts) {
  size_t size = 1, used = 0;
  for (int32_t i = 0; i < num_parts; i++) size += message_parts[i] != NULL ? strlen(message_parts[i]) : 0;
  char *text = malloc(size);
  if (text == NULL) {
    TVMFFIErrorSetRaised(NULL);
    return;
  }
  for (int32_t i = 0; i < num_parts; i++)
    if (message_parts[i] != NULL) used += (size_t)snprintf(text + used, size - used, "%s", message_parts[i]);
  raise_text(kind, (TVMFFIByteArray){text, used});
  free(text);
}

int tn__raise(const char *kind, const char *format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (length < 0) length = 0;
  if ((size_t)length >= sizeof text) length = sizeof text - 1;
  raise_text(kind, (TVMFFIByteArray){text, (size_t)length});
  return -1;
}

int tn__no_memory(void) { return tn__raise("MemoryError", "out of memory"); }
