#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include "base/status.h"
#include "base/thread.h"

/* As on the other systems. Windows reserves address space, and gives memory as the stack grows. */
#define STACK_SIZE ((SIZE_T)8 << 20)

static DWORD WINAPI enter(LPVOID thread) {
  const tn__thread_t *mine = thread;
  mine->run(mine->data);
  return 0;
}

int tn__thread_start(const tn__thread_t *thread) {
  const HANDLE handle = CreateThread(NULL, STACK_SIZE, enter, (LPVOID)(uintptr_t)thread,
                                     STACK_SIZE_PARAM_IS_A_RESERVATION, NULL);
  if (handle == NULL) return 0;
  CloseHandle(handle);
  return 1;
}

size_t tn__processor_count(void) {
  DWORD_PTR process, system;
  /* Both masks are 0 for a process whose threads are in several groups of processors. */
  size_t count = 0;
  if (GetProcessAffinityMask(GetCurrentProcess(), &process, &system))
    for (; process != 0; process &= process - 1) count++;
  if (count > 0) return count;
  SYSTEM_INFO info;
  GetSystemInfo(&info);
  return info.dwNumberOfProcessors < 1 ? 1 : info.dwNumberOfProcessors;
}
