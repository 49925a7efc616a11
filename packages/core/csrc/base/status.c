/* Status codes, their texts, and the last error of each thread. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"

#ifndef TN_VERSION
#error "define TN_VERSION as the version of @tenon/core"
#endif

static _Thread_local char last_error[1024];

int32_t tn__fail(int32_t status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(last_error, sizeof last_error, format, arguments);
  va_end(arguments);
  return status;
}

int32_t tn__system(int64_t result, const char *what) {
  return result < 0 ? tn__fail(TN_SYSTEM, "%s failed: %s", what, strerror(errno)) : TN_OK;
}

uint32_t tn_abi_version(void) { return TN_ABI_VERSION; }

const char *tn_version(void) { return TN_VERSION; }

#define TEXT_OF(value) #value
#define TEXT(value) TEXT_OF(value)

/* Both versions, for readers of the file on machines that cannot load it. */
TN_API extern const char tn_versions[];
const char tn_versions[] = "version " TN_VERSION ", ABI " TEXT(TN_ABI_VERSION);

const char *tn_last_error(void) { return last_error; }
