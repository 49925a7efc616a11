#ifndef TENON_TVM_SUPPORT_H
#define TENON_TVM_SUPPORT_H

#include <stdio.h>
#include <stdlib.h>
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

/* For the functions of tests that return values. */
#define REQUIRE(condition)                                     \
  do {                                                         \
    if (!(condition)) {                                        \
      fprintf(stderr, "%s:%d: not %s\n", __FILE__, __LINE__, #condition); \
      abort();                                                 \
    }                                                          \
  } while (0)

static inline TVMFFIAny int_value(int64_t value) { return (TVMFFIAny){.type_index = kTVMFFIInt, .v_int64 = value}; }
static inline TVMFFIAny text_value(const char *value) { return (TVMFFIAny){.type_index = kTVMFFIRawStr, .v_c_str = value}; }

/* Calls a global function with borrowed arguments: 0, or nonzero with an error raised. */
static inline int call_global(const char *name, TVMFFIAny *args, int32_t count, TVMFFIAny *result) {
  const TVMFFIByteArray span = span_of(name);
  TVMFFIObjectHandle function = NULL;
  REQUIRE(TVMFFIFunctionGetGlobal(&span, &function) == 0 && function != NULL);
  *result = (TVMFFIAny){.type_index = kTVMFFINone};
  const int status = TVMFFIFunctionCall(function, args, count, result);
  TVMFFIObjectDecRef(function);
  return status;
}

#endif
