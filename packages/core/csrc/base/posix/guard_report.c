/* Reports which guarded segment a crashing access touched, before the process ends. */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/status.h"
#include "guard_report.h"
#include "signal_ranges.h"

static tn__ranges_t guarded = {.lock = TN__LOCK};
static tn__lock_t lock = TN__LOCK;
static struct sigaction previous;
static int is_installed;

static void put(const char *text) {
  ssize_t written = write(STDERR_FILENO, text, strlen(text));
  (void)written;
}

static void put_number(size_t value) {
  char digits[24];
  char *at = digits + sizeof digits - 1;
  *at = 0;
  do {
    *--at = (char)('0' + value % 10);
    value /= 10;
  } while (value > 0);
  put(at);
}

static void put_segment(const tn__range_copy_t *block) {
  put("a segment of ");
  put_number(block->part_size);
  put(" bytes of ");
  put(block->name);
  put("\n");
}

static void report(const tn__range_copy_t *block, uintptr_t fault) {
  uintptr_t end = block->part_start + block->part_size;
  put("tenon: native code touched memory ");
  if (fault >= end) {
    put_number(fault - end);
    put(" bytes behind the end of ");
  } else if (fault < block->part_start) {
    put_number(block->part_start - fault);
    put(" bytes before the start of ");
  } else {
    put("after it was freed: ");
  }
  put_segment(block);
}

static void on_fault(int signal_number, siginfo_t *info, void *context) {
  uintptr_t fault = (uintptr_t)info->si_addr;
  tn__range_copy_t block;
  if (tn__ranges_find(&guarded, fault, &block)) report(&block, fault);
  if ((previous.sa_flags & SA_SIGINFO) != 0 && previous.sa_sigaction != NULL) {
    previous.sa_sigaction(signal_number, info, context);
    return;
  }
  /* The access is repeated with the former action, so the system ends the process. */
  sigaction(signal_number, &previous, NULL);
}

static int32_t install(void) {
  int32_t status = TN_OK;
  tn__lock(&lock);
  if (!is_installed) {
    const struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    status = tn__system(sigaction(SIGSEGV, &action, &previous), "sigaction() for SIGSEGV");
    is_installed = status == TN_OK;
  }
  tn__unlock(&lock);
  return status;
}

int32_t tn_guard_report_add(void *address, size_t byte_size, size_t start, size_t length, const char *name,
                            size_t name_length) {
  TN_REQUIRE(address != NULL && (name != NULL || name_length == 0), "address and name must not be null");
  TN_TRY(install());
  uintptr_t first = (uintptr_t)address;
  const tn__range_copy_t block = {
      .start = first, .end = first + byte_size + tn_page_size(), .part_start = first + start, .part_size = length};
  if (!tn__ranges_add(&guarded, &block, name, name_length))
    return tn__fail(TN_OUT_OF_MEMORY, "out of memory: cannot copy the name of a segment");
  return TN_OK;
}

void tn_guard_report_remove(void *address) { tn__ranges_remove(&guarded, (uintptr_t)address); }

void tn__guard_report_damage(const void *address, uint64_t before, uint64_t behind) {
  tn__range_copy_t block;
  if (!tn__ranges_find(&guarded, (uintptr_t)address, &block)) return;
  put("tenon: native code wrote ");
  put_number((size_t)before);
  put(" bytes before and ");
  put_number((size_t)behind);
  put(" bytes behind ");
  put_segment(&block);
}
