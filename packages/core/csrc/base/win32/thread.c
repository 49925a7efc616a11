#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include "../internal.h"

static DWORD WINAPI enter(LPVOID thread) {
  const tn__thread_t *mine = thread;
  mine->run(mine->data);
  return 0;
}

int tn__thread_start(const tn__thread_t *thread) {
  const HANDLE handle = CreateThread(NULL, 0, enter, (LPVOID)(uintptr_t)thread, 0, NULL);
  if (handle == NULL) return 0;
  CloseHandle(handle);
  return 1;
}

size_t tn__processor_count(void) {
  SYSTEM_INFO info;
  GetSystemInfo(&info);
  return info.dwNumberOfProcessors < 1 ? 1 : info.dwNumberOfProcessors;
}
