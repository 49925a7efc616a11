/* Errors between JavaScript and native code. */
#include <string.h>

#include "host.h"

int tn__packed_raise(const char *kind, const char *message) {
  tn__ffi.TVMFFIErrorSetRaisedFromCStr(kind, message);
  return -1;
}

int32_t tn__take_error(TVMFFIAny *slot) {
  TVMFFIObjectHandle error = NULL;
  tn__ffi.TVMFFIErrorMoveFromRaised(&error);
  *slot = (TVMFFIAny){.type_index = error == NULL ? kTVMFFINone : kTVMFFIError, .v_obj = error};
  return -1;
}

/* The head of an error as every version of the ABI has it. */
static const TVMFFIErrorCell *cell_of(TVMFFIObjectHandle error) {
  return (const TVMFFIErrorCell *)(const void *)((const char *)error + sizeof(TVMFFIObject));
}

/* The deleter of errors that the bound library makes, by which they are known: only of those is it sure that they have
 * a cause, which errors of older versions of the ABI lack. */
static void (*own_deleter(void))(void *, int) {
  static _Atomic(uintptr_t) known;
  uintptr_t deleter = atomic_load(&known);
  if (deleter == 0) {
    TVMFFIByteArray empty = {"", 0};
    TVMFFIObjectHandle probe = NULL;
    if (tn__ffi.TVMFFIErrorCreateWithCauseAndExtraContext == NULL) return NULL;
    if (tn__ffi.TVMFFIErrorCreate(&empty, &empty, &empty, &probe) != 0) return NULL;
    deleter = (uintptr_t)((TVMFFIObject *)probe)->deleter;
    tn__ffi.TVMFFIObjectDecRef(probe);
    atomic_store(&known, deleter);
  }
  return (void (*)(void *, int))deleter;
}

/* Puts kind, message and backtrace one after the other into the stack's text, and into its words: the three sizes, the
 * address of the cause (a reference for the caller) or 0, and the three addresses. Returns 1, or 0 if the text has no
 * room. */
TN_API int32_t tn_packed_error_read(tn_packed_stack_t *stack, TVMFFIObject *error) {
  const TVMFFIErrorCell *cell = cell_of(error);
  const TVMFFIByteArray parts[3] = {cell->kind, cell->message, cell->backtrace};
  bool fits = true;
  size_t at = 0;
  for (int i = 0; i < 3; i++) {
    stack->words[i] = parts[i].size;
    stack->words[4 + i] = (uintptr_t)parts[i].data;
    fits = fits && parts[i].size <= TN_STACK_OUT_SIZE - at;
    if (!fits) continue;
    if (parts[i].size > 0) memcpy(tn__out(stack) + at, parts[i].data, parts[i].size);
    at += parts[i].size;
  }
  stack->words[3] = 0;
  if (error->deleter == own_deleter() && error->deleter != NULL) {
    if (cell->cause_chain != NULL) tn__ffi.TVMFFIObjectIncRef(cell->cause_chain);
    stack->words[3] = (uintptr_t)cell->cause_chain;
  }
  return fits ? 1 : 0;
}

/* Makes an error out of three texts that follow each other at `text`, with the cause (or null), and leaves it in `slot`.
 * `id` is the JavaScript error's: it is queued for tn_packed_take_released() when the error ends. Returns a status. */
TN_API int32_t tn_packed_error_create(TVMFFIAny *slot, const char *text, size_t kind_size, size_t message_size,
                                      size_t backtrace_size, int64_t id, TVMFFIObjectHandle cause) {
  TVMFFIByteArray kind = {text, kind_size};
  TVMFFIByteArray message = {text + kind_size, message_size};
  TVMFFIByteArray backtrace = {text + kind_size + message_size, backtrace_size};
  TVMFFIObjectHandle error = NULL;
  *slot = (TVMFFIAny){.type_index = kTVMFFINone};
  tn__foreign_t *foreign = tn__foreign_new(tn__stack_of(slot), id);
  if (foreign == NULL) return TN_OUT_OF_MEMORY;
  int status;
  if (tn__ffi.TVMFFIErrorCreateWithCauseAndExtraContext == NULL) {
    status = tn__ffi.TVMFFIErrorCreate(&kind, &message, &backtrace, &error);
    tn__foreign_release(foreign);
  } else {
    TVMFFIObjectHandle context = NULL;
    status = tn__ffi.TVMFFIObjectCreateOpaque(foreign, kTVMFFIOpaquePyObject, tn__foreign_release, &context);
    if (status != 0) {
      tn__foreign_release(foreign);
      return TN_OUT_OF_MEMORY;
    }
    status = tn__ffi.TVMFFIErrorCreateWithCauseAndExtraContext(&kind, &message, &backtrace, cause, context, &error);
    tn__ffi.TVMFFIObjectDecRef(context);
  }
  if (status != 0) return TN_OUT_OF_MEMORY;
  *slot = (TVMFFIAny){.type_index = kTVMFFIError, .v_obj = error};
  return TN_OK;
}

/* Appends frames to the backtrace of an error that crosses into native code again. */
TN_API void tn_packed_error_append(TVMFFIObjectHandle error, const char *text, size_t size) {
  TVMFFIByteArray backtrace = {text, size};
  cell_of(error)->update_backtrace(error, &backtrace, 1);
}
