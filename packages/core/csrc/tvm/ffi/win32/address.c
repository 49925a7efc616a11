/* The loader's information about addresses, on Windows, which has no names for the functions of libraries. Backtraces end at
 * one function, which is found by its place in the tables for exceptions. */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include "../internal.h"

#define FRAME_LIMIT 512

static const char *name_of(const char *at) {
  DWORD64 base;
  const PRUNTIME_FUNCTION entry = RtlLookupFunctionEntry((DWORD64)(uintptr_t)at, &base, NULL);
  const bool is_end = entry != NULL && base + entry->BeginAddress == (uintptr_t)TVMFFIFunctionCall;
  return is_end ? "TVMFFIFunctionCall" : NULL;
}

void tn__each_frame(int limit, bool (*visit)(const tn__frame_t *frame, void *context), void *context) {
  void *addresses[FRAME_LIMIT];
  static const char here;
  const DWORD flags = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
  HMODULE own = NULL;
  GetModuleHandleExA(flags, &here, &own);
  const int count = CaptureStackBackTrace(0, (DWORD)(limit < FRAME_LIMIT ? limit : FRAME_LIMIT), addresses, NULL);
  for (int i = 0; i < count; i++) {
    char path[MAX_PATH];
    HMODULE library = NULL;
    const char *at = (const char *)addresses[i] - 1;
    const bool is_known = GetModuleHandleExA(flags, at, &library) && GetModuleFileNameA(library, path, sizeof path) > 0;
    const char *name = library == own ? name_of(at) : NULL;
    const tn__frame_t frame = {is_known ? path : NULL, name, (size_t)(at - (const char *)library), library == own};
    if (!visit(&frame, context)) return;
  }
}
