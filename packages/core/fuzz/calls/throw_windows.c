/* A function that throws, for runner.c, and a guard in C that does what guard.cc does, because a compiler of C for Windows
 * may have no C++ library. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unwind.h>

#include "tenon_call.h"

#define CLASS 0x54656e6f6e432b2bu

void fuzz_throw(void (*before)(void)) {
  static struct _Unwind_Exception exception;
  before();
  memset(&exception, 0, sizeof exception);
  exception.exception_class = CLASS;
  /* Returns only if nothing catches the exception. */
  _Unwind_RaiseException(&exception);
}

static int32_t unwind(int32_t actions, void *exception, void *context) {
  if (actions & _UA_FORCE_UNWIND) return _URC_CONTINUE_UNWIND;
  if (actions & _UA_SEARCH_PHASE) return _URC_HANDLER_FOUND;
  const unsigned char *data = _Unwind_GetLanguageSpecificData(context);
  int32_t distance;
  memcpy(&distance, data, sizeof distance);
  _Unwind_SetGR(context, 0, (_Unwind_Word)(uintptr_t)exception);
  _Unwind_SetIP(context, (_Unwind_Ptr)(uintptr_t)(data + distance));
  return _URC_INSTALL_CONTEXT;
}

static int32_t run(void (*body)(void *), void *context, char *message, size_t capacity) {
  (void)message, (void)capacity;
  body(context);
  return TN_OK;
}

static int32_t take(void *exception, char *message, size_t capacity) {
  const struct _Unwind_Exception *caught = exception;
  snprintf(message, capacity, "%s", caught->exception_class == CLASS ? "thrown by the target (std::runtime_error)" : "unknown");
  return TN_EXCEPTION;
}

const tn_guard_t tn_guard = {run, unwind, take};
