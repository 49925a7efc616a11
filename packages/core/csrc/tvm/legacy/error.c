/* Errors: raised in the slot of tvm-ffi, and available as text. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "runtime.h"

static _Thread_local char last_error[4096];
static _Thread_local char last_backtrace[4096];

int tn__legacy_raise(const char *kind, const char *format, ...) {
  char message[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  TVMFFIErrorSetRaisedFromCStr(kind, message);
  return -1;
}

/* Copies a span, truncated to the room, with a NUL. */
static void copy(char *to, size_t room, TVMFFIByteArray text) { snprintf(to, room, "%.*s", (int)text.size, text.data); }

int tn__legacy_note_error(void) {
  TVMFFIObjectHandle error = NULL;
  TVMFFIErrorMoveFromRaised(&error);
  if (error == NULL) return -1;
  const TVMFFIErrorCell *cell = TVMFFIErrorGetCellPtr(error);
  snprintf(last_error, sizeof last_error, "%.*s: %.*s", (int)cell->kind.size, cell->kind.data, (int)cell->message.size,
           cell->message.data);
  copy(last_backtrace, sizeof last_backtrace, cell->backtrace);
  TVMFFIErrorSetRaised(error);
  TVMFFIObjectDecRef(error);
  return -1;
}

/* The size of the kind, `ValueError` in `ValueError: text`, or 0. A kernel's name at the start is not a kind. */
static size_t kind_size(const char *message) {
  static const char ending[] = "Error";
  size_t length = strcspn(message, ": \n"), end = sizeof ending - 1;
  if (length < end || strncmp(message + length, ": ", 2) != 0) return 0;
  return memcmp(message + length - end, ending, end) == 0 ? length : 0;
}

/* The address of the line `Stack trace:`, or the end of the message. */
static const char *stack_trace(const char *message) {
  const char *found = strstr(message, "\nStack trace:");
  return found == NULL ? message + strlen(message) : found;
}

void TVMAPISetLastError(const char *message) {
  size_t kind = kind_size(message);
  const char *text = kind == 0 ? message : message + kind + 2, *trace = stack_trace(text);
  const TVMFFIByteArray kind_span = {kind == 0 ? "RuntimeError" : message, kind == 0 ? 12 : kind};
  const TVMFFIByteArray text_span = {text, (size_t)(trace - text)};
  const char *frames = *trace == '\0' ? trace : trace + strcspn(trace + 1, "\n") + 1;
  if (*frames == '\n') frames++;
  const TVMFFIByteArray frames_span = {frames, strlen(frames)};
  TVMFFIObjectHandle error = NULL;
  copy(last_error, sizeof last_error, (TVMFFIByteArray){message, strlen(message)});
  copy(last_backtrace, sizeof last_backtrace, frames_span);
  /* Without memory the slot becomes empty, and the failed call says that something went wrong. */
  TVMFFIErrorCreate(&kind_span, &text_span, &frames_span, &error);
  TVMFFIErrorSetRaised(error);
  if (error != NULL) TVMFFIObjectDecRef(error);
}

const char *TVMGetLastError(void) { return last_error; }
const char *TVMGetLastBacktrace(void) { return last_backtrace; }

/* --- an error object of the host's language, which the host's functions retain and release ------------------------ */

static _Thread_local void *host_error;
static void (*retain)(void *object);
static void (*release)(void *object);

int TVMBackendRegisterEnvCAPI(const char *name, void *function) {
  if (strcmp(name, "Py_IncRef") == 0) {
    __atomic_store_n(&retain, (void (*)(void *))(uintptr_t)function, __ATOMIC_RELEASE);
  } else if (strcmp(name, "Py_DecRef") == 0) {
    __atomic_store_n(&release, (void (*)(void *))(uintptr_t)function, __ATOMIC_RELEASE);
  } else {
    return tn__legacy_end(TVMFFIEnvRegisterCAPI(name, function));
  }
  return 0;
}

void TVMAPISetLastPythonError(void *error) {
  void (*keep)(void *) = __atomic_load_n(&retain, __ATOMIC_ACQUIRE);
  if (error != NULL && keep != NULL) keep(error);
  TVMDropLastPythonError();
  host_error = error;
}

void *TVMGetLastPythonError(void) { return host_error; }

void TVMDropLastPythonError(void) {
  void (*drop)(void *) = __atomic_load_n(&release, __ATOMIC_ACQUIRE);
  void *error = host_error;
  host_error = NULL;
  if (error != NULL && drop != NULL) drop(error);
}

int tn__legacy_host_error(void) {
  TVMFFIObjectHandle error = NULL;
  TVMFFIErrorMoveFromRaised(&error);
  if (error == NULL) return tn__legacy_raise("EnvErrorAlreadySet", "the host keeps the error");
  TVMFFIErrorSetRaised(error);
  TVMFFIObjectDecRef(error);
  return -1;
}
