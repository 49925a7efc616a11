#include <sys/prctl.h>
#include <sys/resource.h>

#include "process.h"

void tn__limit_process(uint64_t memory_limit, bool dumps_core) {
  if (memory_limit != 0) {
    /* Counts private writable memory, and not what is shared. */
    const struct rlimit limit = {.rlim_cur = memory_limit, .rlim_max = memory_limit};
    setrlimit(RLIMIT_DATA, &limit);
  }
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (dumps_core) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_CORE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_CORE, &limit);
    return;
  }
  /* Other processes of the user cannot attach either. */
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  const struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
}
