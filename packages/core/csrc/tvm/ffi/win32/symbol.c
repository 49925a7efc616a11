/* The kind of a library's symbol, on Windows: functions lie in executable pages. */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include "../module.h"

bool tn__is_function(const void *address) {
  const DWORD executable = PAGE_EXECUTE | PAGE_EXECUTE_READ | PAGE_EXECUTE_READWRITE | PAGE_EXECUTE_WRITECOPY;
  MEMORY_BASIC_INFORMATION info;
  return VirtualQuery(address, &info, sizeof info) == 0 || (info.Protect & executable) != 0;
}
