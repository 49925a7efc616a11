/* Pages that end at a protected page, and advice about the pages of mappings. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/status.h"

size_t tn_page_size(void) {
  long size = sysconf(_SC_PAGESIZE);
  return size > 0 ? (size_t)size : 4096;
}

int32_t tn_pages_open(size_t byte_size, void **out) {
  TN_REQUIRE(out != NULL, "out must not be null");
  size_t page = tn_page_size();
  TN_REQUIRE(byte_size != 0 && byte_size % page == 0 && byte_size <= PTRDIFF_MAX - page,
             "byte_size must be a multiple of the page size %zu, got %zu", page, byte_size);
  char *address =
      mmap(NULL, byte_size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED)
    return tn__fail(TN_OUT_OF_MEMORY, "mmap() of %zu bytes failed: %s", byte_size, strerror(errno));
  if (mprotect(address + byte_size, page, PROT_NONE) != 0) {
    int32_t status = tn__fail(TN_OUT_OF_MEMORY, "mprotect() failed: %s", strerror(errno));
    munmap(address, byte_size + page);
    return status;
  }
  *out = address;
  return TN_OK;
}

int32_t tn_pages_protect(void *address, size_t byte_size) {
  /* The new mapping gives the contents back to the system and keeps the addresses reserved. */
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  void *pages = mmap(address, byte_size, PROT_NONE, flags, -1, 0);
  return tn__system(pages == MAP_FAILED ? -1 : 0, "protecting the pages");
}

int32_t tn_pages_close(void *address, size_t byte_size) {
  return tn__system(munmap(address, byte_size + tn_page_size()), "munmap()");
}

int32_t tn_pages_advise(void *address, size_t byte_size, int32_t needed) {
  return tn__system(madvise(address, byte_size, needed ? MADV_WILLNEED : MADV_DONTNEED), "madvise()");
}

int32_t tn_pages_resident(void *address, size_t byte_size, uint64_t *out) {
  TN_REQUIRE(out != NULL, "out must not be null");
  size_t page = tn_page_size();
  uint64_t resident = 0;
  unsigned char flags[1024];
  for (size_t offset = 0; offset < byte_size; offset += sizeof flags * page) {
    size_t rest = byte_size - offset;
    size_t length = rest < sizeof flags * page ? rest : sizeof flags * page;
    TN_TRY(tn__system(mincore((char *)address + offset, length, (void *)flags), "mincore()"));
    for (size_t i = 0; i < (length + page - 1) / page; i++) resident += flags[i] & 1;
  }
  *out = resident;
  return TN_OK;
}
