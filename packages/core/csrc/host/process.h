/* The process of tenon-host: its limits, and records of how it ends. */
#ifndef TENON_HOST_PROCESS_H
#define TENON_HOST_PROCESS_H

#include "tenon_host.h"

/* crash.c: makes signals of faults write the record of a crash in the command memory, and lists the files that it needs there. Called again once a library was
 * loaded or a kernel was made, because their code may have installed handlers of its own. */
void tn__record_crashes(uint8_t *command);

/* allocation.c: makes allocations that are refused write their size into the command memory. */
void tn__record_refusals(uint8_t *command);

/* limits.c: limits the private memory in bytes (0: not), and writes no core files unless `dumps_core`. */
void tn__limit_process(uint64_t memory_limit, bool dumps_core);

/* filter.c: refuses system calls that kernels do not need. Returns false where the system has no such filters. */
bool tn__filter_system_calls(void);

/* other_processes.c: refuses what reaches into the memory of other processes through files. Returns false before Linux 5.19, and
 * where Landlock is off. Called after tn__limit_process(), on the thread that starts those of the kernels. */
bool tn__close_other_processes(void);

#endif
