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

const char *tn_packed_library_path(void) {
  static char path[MAX_PATH * 3];
  wchar_t name[MAX_PATH];
  HMODULE module;
  const DWORD flags = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
  if (!GetModuleHandleExW(flags, (LPCWSTR)(uintptr_t)tn__ffi.TVMFFIFunctionCall, &module)) return "";
  const DWORD length = GetModuleFileNameW(module, name, MAX_PATH);
  if (length == 0 || length == MAX_PATH) return "";
  return WideCharToMultiByte(CP_UTF8, 0, name, -1, path, sizeof path, NULL, NULL) > 0 ? path : "";
}
