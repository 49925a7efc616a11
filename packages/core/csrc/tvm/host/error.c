#include <string.h>

#include "error.h"

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

/* The deleter of the errors that the bound library creates, or null. Only errors with this deleter are known to have
 * a cause; errors of older versions of the ABI lack that field. */
static uintptr_t own_deleter(void) {
  static _Atomic(uintptr_t) known;
  uintptr_t deleter = atomic_load(&known);
  if (deleter == 0) {
    TVMFFIByteArray empty = {"", 0};
    TVMFFIObjectHandle probe = NULL;
    if (tn__ffi.TVMFFIErrorCreateWithCauseAndExtraContext == NULL) return 0;
    if (tn__ffi.TVMFFIErrorCreate(&empty, &empty, &empty, &probe) != 0) return 0;
    deleter = (uintptr_t)((TVMFFIObject *)probe)->deleter;
    tn__ffi.TVMFFIObjectDecRef(probe);
    atomic_store(&known, deleter);
  }
  return deleter;
}

int32_t tn_packed_error_read(tn_packed_stack_t *stack, TVMFFIObject *error) {
  const TVMFFIErrorCell *cell = TVMFFIErrorGetCellPtr(error);
  const TVMFFIByteArray parts[3] = {cell->kind, cell->message, cell->backtrace};
  uint64_t *words = stack->head.words;
  bool fits = true;
  size_t at = 0;
  for (int i = 0; i < 3; i++) {
    words[i] = parts[i].size;
    words[4 + i] = (uintptr_t)parts[i].data;
    fits = fits && parts[i].size <= TN_PACKED_OUT_SIZE - at;
    if (!fits) continue;
    if (parts[i].size > 0) memcpy(tn__out(stack) + at, parts[i].data, parts[i].size);
    at += parts[i].size;
  }
  words[3] = 0;
  if (error->deleter != NULL && (uintptr_t)error->deleter == own_deleter()) {
    if (cell->cause_chain != NULL) tn__ffi.TVMFFIObjectIncRef(cell->cause_chain);
    words[3] = (uintptr_t)cell->cause_chain;
  }
  return fits ? 1 : 0;
}

int32_t tn_packed_error_create(TVMFFIAny *slot, const char *text, size_t kind_size, size_t message_size,
                               size_t backtrace_size, int64_t id, TVMFFIObjectHandle cause) {
  TVMFFIByteArray kind = {text, kind_size};
  TVMFFIByteArray message = {text + kind_size, message_size};
  TVMFFIByteArray backtrace = {text + kind_size + message_size, backtrace_size};
  TVMFFIObjectHandle error = NULL, context = NULL;
  *slot = (TVMFFIAny){.type_index = kTVMFFINone};
  tn__foreign_t *foreign = tn__foreign_new(tn__stack_of(slot), id);
  if (foreign == NULL) return TN_OUT_OF_MEMORY;
  int status;
  if (tn__ffi.TVMFFIErrorCreateWithCauseAndExtraContext == NULL) {
    status = tn__ffi.TVMFFIErrorCreate(&kind, &message, &backtrace, &error);
    tn__foreign_release(foreign);
  } else if (tn__ffi.TVMFFIObjectCreateOpaque(foreign, kTVMFFIOpaquePyObject, tn__foreign_release, &context) == 0) {
    status = tn__ffi.TVMFFIErrorCreateWithCauseAndExtraContext(&kind, &message, &backtrace, cause, context, &error);
    tn__ffi.TVMFFIObjectDecRef(context);
  } else {
    status = -1;
    tn__foreign_release(foreign);
  }
  if (status != 0) return TN_OUT_OF_MEMORY;
  *slot = (TVMFFIAny){.type_index = kTVMFFIError, .v_obj = error};
  return TN_OK;
}

void tn_packed_error_append(TVMFFIObjectHandle error, const char *text, size_t size) {
  TVMFFIByteArray backtrace = {text, size};
  TVMFFIErrorGetCellPtr(error)->update_backtrace(error, &backtrace, 1);
}
