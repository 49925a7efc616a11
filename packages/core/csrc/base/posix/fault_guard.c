/* Survives pages that are missing under a mapping, because another process truncates the file, or its file system is full. The handler of SIGBUS maps
 * zeroed pages over the rest of the mapping, counts the fault for the owner, and lets the access continue. */
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/status.h"
#include "fault_guard.h"
#include "signal_ranges.h"

static tn__ranges_t ranges = {.lock = TN__LOCK};
static tn__lock_t lock = TN__LOCK;
static struct sigaction previous;
static int installed;
static uintptr_t page_size;

static void pass_on(int signal_number, siginfo_t *info, void *context) {
  if ((previous.sa_flags & SA_SIGINFO) != 0 && previous.sa_sigaction != NULL) {
    previous.sa_sigaction(signal_number, info, context);
  } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
    previous.sa_handler(signal_number);
  } else {
    /* The access is repeated after the return and ends the process, as it would have without this guard. */
    signal(signal_number, SIG_DFL);
  }
}

static void note_fault(tn__range_t *range, uintptr_t page) {
  uintptr_t first = range->first_fault;
  while (page < first && !atomic_compare_exchange_weak(&range->first_fault, &first, page)) {
  }
  range->faults++;
}

static void on_fault(int signal_number, siginfo_t *info, void *context) {
  int saved = errno;
  uintptr_t address = (uintptr_t)info->si_addr;
  uintptr_t page = address & ~(page_size - 1);
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  tn__range_copy_t found;
  if (info->si_code > 0 && tn__ranges_find(&ranges, address, &found) &&
      mmap((void *)page, found.end - page, PROT_READ | PROT_WRITE, flags, -1, 0) != MAP_FAILED)
    note_fault(found.range, page);
  else
    pass_on(signal_number, info, context);
  errno = saved;
}

static int32_t install(void) {
  int32_t status = TN_OK;
  tn__lock(&lock);
  if (!installed) {
    page_size = tn_page_size();
    const struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    status = tn__system(sigaction(SIGBUS, &action, &previous), "sigaction() for SIGBUS");
    installed = status == TN_OK;
  }
  tn__unlock(&lock);
  return status;
}

int32_t tn__fault_guard_add(void *address, size_t byte_size) {
  TN_TRY(install());
  uintptr_t start = (uintptr_t)address;
  const tn__range_copy_t range = {.start = start, .end = (start + byte_size + page_size - 1) & ~(page_size - 1)};
  if (!tn__ranges_add(&ranges, &range, "", 0))
    return tn__fail(TN_OUT_OF_MEMORY, "out of memory: cannot guard one more mapping");
  return TN_OK;
}

void tn__fault_guard_remove(void *address) { tn__ranges_remove(&ranges, (uintptr_t)address); }

int32_t tn_mapping_faults(void *address, uint64_t *out) {
  tn__range_copy_t found;
  if (!tn__ranges_find(&ranges, (uintptr_t)address, &found))
    return tn__fail(TN_NOT_FOUND, "no guarded mapping contains this address");
  *out = found.range->faults;
  return TN_OK;
}

int32_t tn_mapping_lost(void *address, uint64_t *out) {
  tn__range_copy_t found;
  if (!tn__ranges_find(&ranges, (uintptr_t)address, &found))
    return tn__fail(TN_NOT_FOUND, "no guarded mapping contains this address");
  const unsigned char *byte = (const unsigned char *)found.range->first_fault;
  const unsigned char *end = (const unsigned char *)found.end;
  while (byte < end && *(const uint64_t *)byte == 0) byte += sizeof(uint64_t);
  while (byte < end && *byte == 0) byte++;
  *out = byte < end ? (uint64_t)((uintptr_t)byte - found.start) : UINT64_MAX;
  return TN_OK;
}
