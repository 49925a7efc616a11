/* Opening a tvm-ffi library on Windows, where libraries are never unmapped and install no signal handlers. */
#include <stdio.h>
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include "../host.h"

static _Thread_local char reason[512];

int32_t tn_packed_open_library(const char *path, size_t size, void **out) {
  const int32_t status = tn_library_open(path, size, out);
  if (status != TN_OK) snprintf(reason, sizeof reason, "%s", tn_last_error());
  return status;
}

const char *tn_packed_library_error(void) { return reason; }

void *tn_packed_loaded_library(void) { return (void *)GetModuleHandleW(L"tvm_ffi.dll"); }
