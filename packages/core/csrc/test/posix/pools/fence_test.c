/* Fences, dma-bufs, and descriptors of peers. */
#if defined(__linux__)
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "tenon_pools.h"

static int32_t status_of(int32_t fence) {
  int32_t status = 99;
  return tn_fence_status(fence, &status) == TN_OK ? status : 98;
}

TEST(a_fence_is_signalled_for_all_holders) {
  int32_t ends[2];
  CHECK(tn_channel_pair(1, ends) == TN_OK);
  int other = dup(ends[0]);
  CHECK(status_of(ends[0]) == TN_FENCE_ACTIVE && status_of(other) == TN_FENCE_ACTIVE);
  CHECK(tn_channel_ring(ends[1]) == TN_OK);
  for (int i = 0; i < 3; i++) CHECK(status_of(ends[0]) == TN_FENCE_SIGNALED && status_of(other) == TN_FENCE_SIGNALED);
  uint8_t ready[2];
  int32_t both[2] = {ends[0], other};
  CHECK(tn_channel_poll(both, 2, 0, ready) == TN_OK && ready[0] == 1 && ready[1] == 1);
  /* The end of the signaller does not change the state. */
  close(ends[1]);
  CHECK(status_of(ends[0]) == TN_FENCE_SIGNALED && status_of(other) == TN_FENCE_SIGNALED);
  close(ends[0]);
  close(other);
}

TEST(a_fence_fails_when_its_other_end_is_closed) {
  int32_t ends[2];
  CHECK(tn_channel_pair(1, ends) == TN_OK);
  close(ends[1]);
  CHECK(status_of(ends[0]) == TN_FENCE_FAILED);
  uint8_t ready;
  CHECK(tn_channel_poll(ends, 1, -1, &ready) == TN_OK && ready == 1);
  close(ends[0]);
}

TEST(a_descriptor_that_is_not_a_fence_is_refused) {
  int32_t status;
  int pipe_ends[2];
  CHECK(pipe(pipe_ends) == 0);
  CHECK(tn_fence_status(pipe_ends[0], &status) == TN_INVALID_ARGUMENT);
  CHECK(tn_fence_status(-1, &status) == TN_INVALID_ARGUMENT);
  CHECK(tn_fence_status(pipe_ends[0], NULL) == TN_INVALID_ARGUMENT);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

TEST(seals_are_read_without_the_file_system) {
  int32_t memory;
  uint32_t seals = 0;
  CHECK(tn_shared_memory_create(4096, "x", 1, &memory) == TN_OK);
  CHECK(tn_descriptor_seals(memory, &seals) == TN_OK && (seals & TN_SEAL_SHRINK) != 0);
  CHECK(tn_descriptor_close(memory) == TN_OK);
  CHECK(tn_descriptor_seals(memory, &seals) == TN_SYSTEM);
  int null = open("/dev/null", O_RDWR);
  CHECK(tn_descriptor_seals(null, &seals) == TN_OK && seals == 0);
  close(null);
}

TEST(descriptors_of_peers_are_closed_without_waiting) {
  int32_t sockets[2], memory;
  CHECK(tn_channel_pair(0, sockets) == TN_OK);
  CHECK(tn_shared_memory_create(4096, "x", 1, &memory) == TN_OK);
  CHECK(tn_descriptor_discard(sockets[0]) == TN_OK && tn_descriptor_discard(sockets[1]) == TN_OK);
  CHECK(tn_descriptor_discard(memory) == TN_OK);
  /* Descriptors that cannot block are closed at once. */
  CHECK(fcntl(sockets[0], F_GETFD) < 0 && fcntl(sockets[1], F_GETFD) < 0 && fcntl(memory, F_GETFD) < 0);
  int many[200];
  for (int i = 0; i < 200; i++) many[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
  for (int i = 0; i < 200; i++) CHECK(many[i] >= 0 && tn_descriptor_discard(many[i]) == TN_OK);
  int left = 200;
  for (int wait = 0; wait < 5000 && left > 0; wait++) {
    left = 0;
    for (int i = 0; i < 200; i++) left += fcntl(many[i], F_GETFD) >= 0;
    usleep(1000);
  }
  CHECK(left == 0);
}

/* On a system without dma-bufs the calls fail and leave no descriptor open. */
TEST(a_dma_buf_is_created_or_refused) {
  int32_t descriptor = -1;
  CHECK(tn_dma_buf_create(0, &descriptor) == TN_INVALID_ARGUMENT);
  CHECK(tn_dma_buf_create(UINT64_MAX, &descriptor) == TN_INVALID_ARGUMENT);
  CHECK(tn_dma_buf_create(4096, NULL) == TN_INVALID_ARGUMENT);
  int next = dup(0);
  close(next);
  int32_t status = tn_dma_buf_create(5000, &descriptor);
  if (status != TN_OK) {
    CHECK(status == TN_UNSUPPORTED && descriptor == -1);
    int after = dup(0);
    CHECK(after == next);
    close(after);
    return;
  }
  tn_descriptor_info_t info;
  CHECK(tn_descriptor_describe(descriptor, &info) == TN_OK && info.is_dma_buf == 1 && info.byte_size == 8192);
  CHECK((fcntl(descriptor, F_GETFD) & FD_CLOEXEC) != 0);
  void *memory;
  CHECK(tn_mapping_open(descriptor, 0, 5000, TN_MAPPING_SHARED, &memory) == TN_OK);
  CHECK(tn_dma_buf_access(descriptor, TN_DMA_BUF_WRITE) == TN_OK);
  CHECK(((uint8_t *)memory)[4999] == 0);
  memset(memory, 7, 5000);
  CHECK(tn_dma_buf_access(descriptor, TN_DMA_BUF_WRITE | TN_DMA_BUF_END) == TN_OK);
  CHECK(tn_mapping_close(memory, 5000) == TN_OK);
  CHECK(tn_descriptor_close(descriptor) == TN_OK);
}

TEST(accesses_to_other_memory_are_refused) {
  int32_t memory;
  CHECK(tn_shared_memory_create(4096, "x", 1, &memory) == TN_OK);
  tn_descriptor_info_t info;
  CHECK(tn_descriptor_describe(memory, &info) == TN_OK && info.is_dma_buf == 0);
  CHECK(tn_dma_buf_access(memory, 0) == TN_SYSTEM);
  CHECK(tn_dma_buf_access(memory, 4) == TN_INVALID_ARGUMENT);
  CHECK(tn_descriptor_close(memory) == TN_OK);
}
#endif
