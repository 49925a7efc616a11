/* Probes of calls for tracers of the system, such as bpftrace and perf (USDT). Each is one instruction without effect, and a note in the
 * file of the library has its place and those of its arguments. They exist if the library is compiled where sys/sdt.h is. */
#include "tenon.h"

#if defined(__linux__) && defined(__has_include)
#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#define HAS_PROBES 1
#endif
#endif

#if defined(HAS_PROBES)

int32_t tn_probes_exist(void) { return 1; }

void tn_probe_begin(const char *kernel, const char *convention, uint64_t call) {
  DTRACE_PROBE3(tenon, call__begin, kernel, convention, call);
}

void tn_probe_end(const char *kernel, const char *convention, uint64_t call, uint64_t queue_ns, uint64_t run_ns, int32_t failed) {
  DTRACE_PROBE6(tenon, call__end, kernel, convention, call, queue_ns, run_ns, failed);
}

#else

int32_t tn_probes_exist(void) { return 0; }

void tn_probe_begin(const char *kernel, const char *convention, uint64_t call) { (void)kernel, (void)convention, (void)call; }

void tn_probe_end(const char *kernel, const char *convention, uint64_t call, uint64_t queue_ns, uint64_t run_ns, int32_t failed) {
  (void)kernel, (void)convention, (void)call, (void)queue_ns, (void)run_ns, (void)failed;
}

#endif
