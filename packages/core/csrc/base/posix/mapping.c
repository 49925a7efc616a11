/* Mappings of shared memory and files into this process, counted. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "base/status.h"
#include "base/owned.h"
#include "base/socket.h"
#include "fault_guard.h"

static _Atomic uint64_t mapped_count;
static _Atomic uint64_t mapped_bytes;

int32_t tn_mapping_open(int32_t descriptor, uint64_t offset, size_t byte_size, uint32_t flags, void **out) {
  TN_REQUIRE(out != NULL, "out must not be null");
  TN_REQUIRE((flags & ~(TN_MAPPING_SHARED | TN_MAPPING_GUARDED | TN_MAPPING_OF_THREAD)) == 0 && offset <= INT64_MAX,
             "flags or offset are not valid");
  int sharing = (flags & TN_MAPPING_SHARED) != 0 ? MAP_SHARED : MAP_PRIVATE | MAP_NORESERVE;
  void *address = mmap(NULL, byte_size, PROT_READ | PROT_WRITE, sharing, descriptor, (off_t)offset);
  TN_TRY(tn__system(address == MAP_FAILED ? -1 : 0, "mmap()"));
  if ((flags & TN_MAPPING_GUARDED) != 0) {
    int32_t status = tn__fault_guard_add(address, byte_size);
    if (status != TN_OK) {
      munmap(address, byte_size);
      return status;
    }
  }
  mapped_count++;
  mapped_bytes += byte_size;
  if ((flags & TN_MAPPING_OF_THREAD) != 0) tn__owned_note_mapping(address, byte_size);
  *out = address;
  return TN_OK;
}

int32_t tn_mapping_close(void *address, size_t byte_size) {
  tn__owned_forget_mapping(address);
  tn__fault_guard_remove(address);
  TN_TRY(tn__system(munmap(address, byte_size), "munmap()"));
  mapped_count--;
  mapped_bytes -= byte_size;
  return TN_OK;
}

int32_t tn_mapping_retire(void *address, size_t byte_size) {
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  void *pages = mmap(address, byte_size, PROT_READ | PROT_WRITE, flags, -1, 0);
  TN_TRY(tn__system(pages == MAP_FAILED ? -1 : 0, "replacing the mapping"));
  tn__fault_guard_remove(address);
  return TN_OK;
}

int32_t tn_file_reserve(int32_t descriptor, uint64_t offset, uint64_t byte_size) {
  TN_REQUIRE(offset <= INT64_MAX && byte_size <= INT64_MAX - offset, "offset and byte_size must be below 2^63");
#if !defined(__linux__)
  (void)descriptor;
  return TN_OK;
#else
  if (byte_size == 0) return TN_OK;
  int result;
  TN__REPEAT(result, fallocate(descriptor, 0, (off_t)offset, (off_t)byte_size));
  /* posix_fallocate() of glibc would write to each page instead, at the same time as other writers. */
  if (result != 0 && (errno == EOPNOTSUPP || errno == ENOSYS)) return TN_OK;
  return tn__system(result, "fallocate()");
#endif
}

int32_t tn_mapping_sync(void *address, size_t byte_size) {
  return tn__system(msync(address, byte_size, MS_SYNC), "msync()");
}

void tn_mapping_totals(uint64_t *count, uint64_t *byte_size) {
  *count = mapped_count;
  *byte_size = mapped_bytes;
}
