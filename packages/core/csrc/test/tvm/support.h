#ifndef TENON_TVM_SUPPORT_H
#define TENON_TVM_SUPPORT_H

#include <string.h>

#include "check.h"
#include "tenon_tvm.h"

static inline TVMFFIByteArray span_of(const char *text) { return (TVMFFIByteArray){text, strlen(text)}; }

/* Whether the calling thread's error, which this takes, has this kind and a message that begins like this. */
static inline int raised_is(const char *kind, const char *message) {
  TVMFFIObjectHandle error = NULL;
  TVMFFIErrorMoveFromRaised(&error);
  if (error == NULL) return 0;
  const TVMFFIErrorCell *cell = TVMFFIErrorGetCellPtr(error);
  int same = cell->kind.size == strlen(kind) && memcmp(cell->kind.data, kind, cell->kind.size) == 0 &&
             cell->message.size >= strlen(message) && memcmp(cell->message.data, message, strlen(message)) == 0;
  TVMFFIObjectDecRef(error);
  return same;
}

#endif
