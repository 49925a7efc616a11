/* Errors that pass between JavaScript and native code. */
#pragma once

#include "host.h"

int tn__packed_raise(const char *kind, const char *message);

/* Moves the calling thread's error into a slot and returns -1. */
int32_t tn__take_error(TVMFFIAny *slot);

/* Returns the error that was raised on the stack's thread before a call, for tn__drop_left_error(). */
static inline TVMFFIObjectHandle tn__error_before(const tn_packed_stack_t *stack) {
  return stack->raised == NULL ? NULL : *stack->raised;
}

/* Drops the error that a successful call left raised, so that no later failure has it. An error from before the call stays,
 * because the function that raised it is still running and called back; if the slot is unknown, it is dropped as well. */
static inline void tn__drop_left_error(const tn_packed_stack_t *stack, TVMFFIObjectHandle before) {
  if (stack->raised == NULL || *stack->raised != before) tn__ffi_drop_raised();
}

/* Leaves an owned object in a slot and returns 0, or if the call that created it has failed, takes its error. */
static inline int32_t tn__leave(TVMFFIAny *slot, int status, int32_t type_index, TVMFFIObjectHandle object) {
  if (status != 0) return tn__take_error(slot);
  *slot = (TVMFFIAny){.type_index = type_index, .v_obj = object};
  return 0;
}

static inline int32_t tn__packed_fail(TVMFFIAny *slot, const char *kind, const char *message) {
  tn__packed_raise(kind, message);
  return tn__take_error(slot);
}
