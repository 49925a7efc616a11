/* Survives pages that vanish under a mapping because another process truncates the file. The handler of SIGBUS maps
 * zeroed pages over the rest of the mapping, counts the fault for the owner, and lets the access continue. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../internal.h"
#include "../lock.h"

#define PLACES 1024

/* A watched range. `end` is written last and cleared first, because the handler cannot lock and relies on it. */
typedef struct {
  _Atomic uintptr_t start;
  _Atomic uintptr_t end;
  _Atomic uint64_t faults;
} range_t;

static range_t ranges[PLACES];
/* One past the last place that was ever used, which bounds the search of the handler. */
static _Atomic size_t used;
static tn__lock_t lock = TN__LOCK;
static struct sigaction previous;
static int installed;
static uintptr_t page_size;

static range_t *find(uintptr_t address) {
  size_t count = used;
  for (size_t i = 0; i < count; i++)
    if (address < ranges[i].end && address >= ranges[i].start) return &ranges[i];
  return NULL;
}

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

static void on_fault(int signal_number, siginfo_t *info, void *context) {
  int saved = errno;
  uintptr_t address = (uintptr_t)info->si_addr;
  range_t *range = info->si_code > 0 ? find(address) : NULL;
  uintptr_t page = address & ~(page_size - 1);
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  if (range != NULL && mmap((void *)page, range->end - page, PROT_READ | PROT_WRITE, flags, -1, 0) != MAP_FAILED)
    range->faults++;
  else
    pass_on(signal_number, info, context);
  errno = saved;
}

/* The lock is held. */
static int32_t install(void) {
  if (installed) return TN_OK;
  page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
  const struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  TN_TRY(tn__system(sigaction(SIGBUS, &action, &previous), "sigaction() for SIGBUS"));
  installed = 1;
  return TN_OK;
}

int32_t tn__fault_guard_add(void *address, size_t byte_size) {
  tn__lock(&lock);
  int32_t status = install();
  size_t place = 0;
  while (place < PLACES && ranges[place].start != 0) place++;
  if (status == TN_OK && place == PLACES)
    status = tn__fail(TN_OUT_OF_MEMORY, "at most %d guarded mappings can be open at a time", PLACES);
  if (status == TN_OK) {
    ranges[place].faults = 0;
    ranges[place].start = (uintptr_t)address;
    ranges[place].end = ((uintptr_t)address + byte_size + page_size - 1) & ~(page_size - 1);
    if (place >= used) used = place + 1;
  }
  tn__unlock(&lock);
  return status;
}

void tn__fault_guard_remove(void *address) {
  tn__lock(&lock);
  for (size_t i = 0; i < used; i++) {
    if (ranges[i].start != (uintptr_t)address) continue;
    ranges[i].end = 0;
    ranges[i].start = 0;
  }
  tn__unlock(&lock);
}

int32_t tn_mapping_faults(void *address, uint64_t *out) {
  tn__lock(&lock);
  range_t *range = find((uintptr_t)address);
  uint64_t faults = range == NULL ? 0 : range->faults;
  tn__unlock(&lock);
  if (range == NULL) return tn__fail(TN_NOT_FOUND, "no guarded mapping contains this address");
  *out = faults;
  return TN_OK;
}
