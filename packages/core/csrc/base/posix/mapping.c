/* Mappings of shared memory and files into this process, counted. */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "../internal.h"

static _Atomic uint64_t mapped_count;
static _Atomic uint64_t mapped_bytes;

int32_t tn_mapping_open(int32_t descriptor, uint64_t offset, size_t byte_size, uint32_t flags, void **out) {
  if (out == NULL) return tn__fail(TN_INVALID_ARGUMENT, "out must not be null");
  if ((flags & ~(TN_MAPPING_SHARED | TN_MAPPING_GUARDED)) != 0 || offset > INT64_MAX)
    return tn__fail(TN_INVALID_ARGUMENT, "flags or offset are not valid");
  int sharing = (flags & TN_MAPPING_SHARED) != 0 ? MAP_SHARED : MAP_PRIVATE | MAP_NORESERVE;
  void *address = mmap(NULL, byte_size, PROT_READ | PROT_WRITE, sharing, descriptor, (off_t)offset);
  if (address == MAP_FAILED) return tn__fail(TN_SYSTEM, "mmap() failed: %s", strerror(errno));
  if ((flags & TN_MAPPING_GUARDED) != 0) {
    int32_t status = tn__fault_guard_add(address, byte_size);
    if (status != TN_OK) {
      munmap(address, byte_size);
      return status;
    }
  }
  mapped_count++;
  mapped_bytes += byte_size;
  *out = address;
  return TN_OK;
}

int32_t tn_mapping_close(void *address, size_t byte_size) {
  tn__fault_guard_remove(address);
  if (munmap(address, byte_size) != 0) return tn__fail(TN_SYSTEM, "munmap() failed: %s", strerror(errno));
  mapped_count--;
  mapped_bytes -= byte_size;
  return TN_OK;
}

int32_t tn_mapping_retire(void *address, size_t byte_size) {
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  if (mmap(address, byte_size, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED)
    return tn__fail(TN_SYSTEM, "the mapping could not be replaced: %s", strerror(errno));
  tn__fault_guard_remove(address);
  return TN_OK;
}

int32_t tn_mapping_sync(void *address, size_t byte_size) {
  if (msync(address, byte_size, MS_SYNC) != 0) return tn__fail(TN_SYSTEM, "msync() failed: %s", strerror(errno));
  return TN_OK;
}

void tn_mapping_totals(uint64_t *count, uint64_t *byte_size) {
  *count = mapped_count;
  *byte_size = mapped_bytes;
}
