/* Faults of guarded mappings, for other handlers of signals. */
#pragma once

#include <stdint.h>

/* Repairs the fault of a siginfo_t of SIGBUS if a page of a guarded mapping is missing, and returns 1 then. Handlers of signals call it. */
int32_t tn__fault_guard_repair(const void *info);
