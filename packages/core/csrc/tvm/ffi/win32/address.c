/* The loader's information about addresses, on Windows, which has no names for the functions of libraries. */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include "../internal.h"

#define FRAME_LIMIT 512

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
    const tn__frame_t frame = {is_known ? path : NULL, NULL, (size_t)(at - (const char *)library), library == own};
    if (!visit(&frame, context)) return;
  }
}

/* Functions lie in executable pages. */
bool tn__is_function(const void *address) {
  const DWORD executable = PAGE_EXECUTE | PAGE_EXECUTE_READ | PAGE_EXECUTE_READWRITE | PAGE_EXECUTE_WRITECOPY;
  MEMORY_BASIC_INFORMATION info;
  return VirtualQuery(address, &info, sizeof info) == 0 || (info.Protect & executable) != 0;
}
