/* dma-bufs, which are memory that devices share: from a memfd (/dev/udmabuf) or a heap (/dev/dma_heap/system). */
#include <errno.h>
#include <string.h>

#include "base/status.h"
#include "base/owned.h"
#include "tenon_pools.h"

#if defined(__linux__)
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/dma-heap.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Calls ioctl() until neither a signal nor the driver interrupts it. */
static int repeat_ioctl(int descriptor, unsigned long request, void *argument) {
  int result;
  do {
    result = ioctl(descriptor, request, argument);
  } while (result < 0 && (errno == EINTR || errno == EAGAIN));
  return result;
}

static int32_t create_of_memory(uint64_t byte_size, int32_t *out) {
  int device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
  if (device < 0) return tn__fail(TN_UNSUPPORTED, "/dev/udmabuf could not be opened: %s", strerror(errno));
  /* The device demands memory that cannot shrink and can be written. */
  int32_t memory;
  int32_t status = tn_shared_memory_create(byte_size, "dma-buf", 7, &memory);
  if (status == TN_OK) {
    struct udmabuf_create create = {.memfd = (uint32_t)memory, .flags = UDMABUF_FLAGS_CLOEXEC, .size = byte_size};
    *out = repeat_ioctl(device, UDMABUF_CREATE, &create);
    if (*out < 0) status = tn__fail(TN_UNSUPPORTED, "/dev/udmabuf refused the memory: %s", strerror(errno));
    /* The dma-buf keeps the pages. */
    tn_descriptor_close(memory);
  }
  close(device);
  return status;
}

static int32_t create_of_heap(uint64_t byte_size, int32_t *out) {
  int heap = open("/dev/dma_heap/system", O_RDONLY | O_CLOEXEC);
  if (heap < 0) return tn__fail(TN_UNSUPPORTED, "/dev/dma_heap/system could not be opened: %s", strerror(errno));
  struct dma_heap_allocation_data allocation = {.len = byte_size, .fd_flags = O_RDWR | O_CLOEXEC};
  int32_t status = TN_OK;
  if (repeat_ioctl(heap, DMA_HEAP_IOCTL_ALLOC, &allocation) != 0)
    status = tn__fail(TN_UNSUPPORTED, "/dev/dma_heap/system refused the memory: %s", strerror(errno));
  close(heap);
  if (status == TN_OK) *out = (int32_t)allocation.fd;
  return status;
}

int32_t tn_dma_buf_create(uint64_t byte_size, int32_t *out) {
  TN_REQUIRE(out != NULL, "out must not be null");
  size_t page = tn_page_size();
  TN_REQUIRE(byte_size != 0 && byte_size <= INT64_MAX - page, "byte_size must be from 1 to 2^63 - 1");
  uint64_t whole = (byte_size + page - 1) / page * page;
  if (create_of_memory(whole, out) != TN_OK) TN_TRY(create_of_heap(whole, out));
  tn__owned_note_descriptor(*out);
  return TN_OK;
}

int32_t tn_dma_buf_access(int32_t descriptor, uint32_t flags) {
  TN_REQUIRE((flags & ~(TN_DMA_BUF_WRITE | TN_DMA_BUF_END)) == 0, "flags are unknown: %u", flags);
  struct dma_buf_sync sync = {.flags = DMA_BUF_SYNC_READ};
  if ((flags & TN_DMA_BUF_WRITE) != 0) sync.flags |= DMA_BUF_SYNC_WRITE;
  sync.flags |= (flags & TN_DMA_BUF_END) != 0 ? DMA_BUF_SYNC_END : DMA_BUF_SYNC_START;
  return tn__system(repeat_ioctl(descriptor, DMA_BUF_IOCTL_SYNC, &sync), "DMA_BUF_IOCTL_SYNC");
}

#else

int32_t tn_dma_buf_create(uint64_t byte_size, int32_t *out) {
  (void)byte_size, (void)out;
  return tn__fail(TN_UNSUPPORTED, "dma-bufs exist only on Linux");
}

int32_t tn_dma_buf_access(int32_t descriptor, uint32_t flags) {
  (void)descriptor, (void)flags;
  return tn__fail(TN_UNSUPPORTED, "dma-bufs exist only on Linux");
}

#endif
