/* Survives pages that are missing under a mapping, because another process truncates the file, or its file system is full. The handler of
 * SIGBUS maps a page of this process over each missing page that is accessed, records it for the owner, and lets the access continue. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/status.h"
#include "base/fault_repair.h"
#include "fault_guard.h"
#include "signal_ranges.h"

static tn__ranges_t ranges = {.lock = TN__LOCK};
static tn__lock_t lock = TN__LOCK;
static struct sigaction previous;
static int installed;
static uintptr_t page_size;

/* Other faults are those of broken memory, and accesses that are not aligned. */
static int is_of_missing_page(const siginfo_t *info) {
#if defined(__linux__)
  return info->si_code == BUS_ADRERR;
#else
  return info->si_code > 0;
#endif
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

/* Pages of a mapping that were missing, one bit for each page. */
typedef struct tn__missing {
  size_t words;
  _Atomic uint64_t faults;
  _Atomic uint64_t bits[]; /* `words` for the missing pages, then `words` for those whose contents were kept */
} tn__missing_t;

/* From then on, missing neighbours of a page are replaced with it, because each page costs two of the 65,530 mappings of a process. */
#define PAGES_ALONE 4096
#define MOST_PAGES 16384

static size_t missing_size(size_t words) { return sizeof(tn__missing_t) + 2 * words * sizeof(uint64_t); }

/* Returns the record of a range, or null without memory. The handler makes it, because few mappings ever need one. */
static tn__missing_t *record_of(const tn__range_copy_t *found) {
  void *known = found->range->record;
  if (known != NULL) return known;
  size_t words = ((found->end - found->start) / page_size + 63) / 64;
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  tn__missing_t *record = mmap(NULL, missing_size(words), PROT_READ | PROT_WRITE, flags, -1, 0);
  if (record == MAP_FAILED) return NULL;
  record->words = words;
  if (atomic_compare_exchange_strong(&found->range->record, &known, record)) return record;
  munmap(record, missing_size(words));
  return known;
}

static int has_bit(const _Atomic uint64_t *bits, size_t page) { return (bits[page / 64] >> page % 64 & 1) != 0; }

/* Returns 0 if the bit was set before. */
static int set_bit(_Atomic uint64_t *bits, size_t page) {
  uint64_t bit = (uint64_t)1 << page % 64;
  return (atomic_fetch_or(&bits[page / 64], bit) & bit) == 0;
}

static void clear_bits(_Atomic uint64_t *bits, size_t page, size_t count) {
  for (size_t i = page; i < page + count; i++) atomic_fetch_and(&bits[i / 64], ~((uint64_t)1 << i % 64));
}

/* Reads bytes of this process. Returns 0 where pages are missing, which causes no signal. */
static int read_bytes(void *target, uintptr_t address, size_t size) {
#if defined(__linux__)
  const struct iovec to = {.iov_base = target, .iov_len = size};
  const struct iovec from = {.iov_base = (void *)address, .iov_len = size};
  return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)size;
#else
  (void)target, (void)address, (void)size;
  return 0;
#endif
}

static int is_missing(uintptr_t page) {
  char byte;
  return !read_bytes(&byte, page, 1) && errno == EFAULT;
}

static void *map_pages(void *address, size_t size) {
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (address != NULL ? MAP_FIXED : 0);
  void *pages = mmap(address, size, PROT_READ | PROT_WRITE, flags, -1, 0);
  return pages == MAP_FAILED ? NULL : pages;
}

/* Replaces a page that can be read and not written, because its file system is full and copies each page that is written. */
static int replace_readable(uintptr_t page) {
#if defined(__linux__)
  void *copy = map_pages(NULL, page_size);
  if (copy == NULL) return 0;
  if (read_bytes(copy, page, page_size) &&
      mremap(copy, page_size, page_size, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)page) != MAP_FAILED)
    return 1;
  munmap(copy, page_size);
#endif
  (void)page;
  return 0;
}

/* Replaces a page that cannot be accessed. Returns 0 without memory. */
static int replace(const tn__range_copy_t *found, uintptr_t address) {
  tn__missing_t *record = record_of(found);
  if (record == NULL) return 0;
  size_t page = (address - found->start) / page_size, last = (found->end - found->start) / page_size, count = 1;
  /* Another thread replaces this page, or did so and may have written to it. The access is repeated. */
  if (!set_bit(record->bits, page)) return 1;
  uintptr_t start = found->start + page * page_size;
  if (!is_missing(start) && replace_readable(start)) return set_bit(record->bits + record->words, page);
  if (record->faults++ >= PAGES_ALONE)
    while (count < MOST_PAGES && page + count < last && is_missing(start + count * page_size) &&
           set_bit(record->bits, page + count))
      count++;
  if (map_pages((void *)start, count * page_size) != NULL) return 1;
  clear_bits(record->bits, page, count);
  return 0;
}

int32_t tn__fault_guard_repair(const void *signal_info) {
  const siginfo_t *info = signal_info;
  tn__range_copy_t found;
  uintptr_t address = (uintptr_t)info->si_addr;
  return is_of_missing_page(info) && tn__ranges_find(&ranges, address, &found) && replace(&found, address);
}

static void on_fault(int signal_number, siginfo_t *info, void *context) {
  int saved = errno;
  if (!tn__fault_guard_repair(info)) pass_on(signal_number, info, context);
  errno = saved;
}

static int32_t install(void) {
  int32_t status = TN_OK;
  tn__lock(&lock);
  if (!installed) {
    page_size = tn_page_size();
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigfillset(&action.sa_mask); /* another handler could wait for a page that this thread is about to replace */
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

void tn__fault_guard_remove(void *address) {
  tn__range_copy_t found;
  if (!tn__ranges_find(&ranges, (uintptr_t)address, &found)) return;
  tn__missing_t *record = found.range->record;
  tn__ranges_remove(&ranges, (uintptr_t)address);
  if (record != NULL) munmap(record, missing_size(record->words));
}

static int32_t find(const void *address, tn__range_copy_t *found) {
  if (tn__ranges_find(&ranges, (uintptr_t)address, found)) return TN_OK;
  return tn__fail(TN_NOT_FOUND, "no guarded mapping contains this address");
}

int32_t tn_mapping_missing(const void *address, size_t byte_size, uint64_t *out) {
  tn__range_copy_t found;
  TN_TRY(find(address, &found));
  uintptr_t start = (uintptr_t)address;
  TN_REQUIRE(byte_size <= found.end - start, "byte_size must not reach behind the mapping");
  const tn__missing_t *record = found.range->record;
  uint64_t count = 0;
  if (record != NULL && byte_size > 0)
    for (size_t i = (start - found.start) / page_size; i <= (start + byte_size - 1 - found.start) / page_size; i++)
      count += (uint64_t)has_bit(record->bits, i);
  *out = count;
  return TN_OK;
}

/* Returns the offset of the first byte that is not zero, or `size`. */
static size_t first_byte(const unsigned char *bytes, size_t size) {
  size_t i = 0;
  for (uint64_t word = 0; i + sizeof word <= size; i += sizeof word) {
    memcpy(&word, bytes + i, sizeof word);
    if (word != 0) break;
  }
  while (i < size && bytes[i] == 0) i++;
  return i;
}

/* Returns the offset in its page of the first byte that is lost, or the size of a page. `kept` are the bytes of the page that the file has. */
static size_t lost_byte(const tn__range_copy_t *found, size_t page, size_t kept) {
  const tn__missing_t *record = found->range->record;
  if (record != NULL && has_bit(record->bits, page)) {
    if (has_bit(record->bits + record->words, page)) return 0;
    kept = 0;
  }
  return kept + first_byte((const unsigned char *)found->start + page * page_size + kept, page_size - kept);
}

int32_t tn_mapping_lost(void *address, uint64_t available, uint64_t *out) {
  tn__range_copy_t found;
  TN_TRY(find(address, &found));
  const tn__missing_t *record = found.range->record;
  size_t pages = (found.end - found.start) / page_size, cut = pages;
  if (available / page_size < pages && available % page_size != 0) cut = (size_t)(available / page_size);
  *out = UINT64_MAX;
  for (size_t page = 0; page < pages; page++) {
    if (page != cut && (record == NULL || !has_bit(record->bits, page))) continue;
    size_t byte = lost_byte(&found, page, page == cut ? (size_t)(available % page_size) : page_size);
    if (byte == page_size) continue;
    *out = page * page_size + byte;
    break;
  }
  return TN_OK;
}
