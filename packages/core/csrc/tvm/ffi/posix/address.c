/* The loader's information about addresses, on POSIX. */
#include <dlfcn.h>
#if defined(__GLIBC__) || defined(__APPLE__)
#include <execinfo.h>
#endif

#include "../internal.h"

#define FRAME_LIMIT 512

void tn__each_frame(int limit, bool (*visit)(const tn__frame_t *frame, void *context), void *context) {
#if defined(__GLIBC__) || defined(__APPLE__)
  static const char here;
  void *addresses[FRAME_LIMIT], *own = NULL;
  Dl_info info;
  if (dladdr(&here, &info) != 0) own = info.dli_fbase;
  bool is_here = false;
  int count = backtrace(addresses, limit < FRAME_LIMIT ? limit : FRAME_LIMIT);
  for (int i = 0; i < count; i++) {
    /* The stack has return addresses; the calls lie before them. */
    char *at = (char *)addresses[i] - 1;
    if (dladdr(at, &info) == 0) memset(&info, 0, sizeof info);
    /* Sanitizers and similar tools have frames before the first frame of this library. */
    is_here = is_here || info.dli_fbase == own;
    if (!is_here) continue;
    const bool is_own = info.dli_fbase == own;
    const tn__frame_t frame = {info.dli_fname, info.dli_sname, (size_t)at - (size_t)info.dli_fbase, is_own};
    if (!visit(&frame, context)) return;
  }
#else
  (void)limit, (void)visit, (void)context;
#endif
}
