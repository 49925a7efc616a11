/* Shared memory, mappings, and the guard of their faults. */
#if defined(__linux__)
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "check.h"
#include "posix/descriptors.h"
#include "tenon_pools.h"

#define SIZE 8192

static int32_t create(uint64_t size) {
  int32_t descriptor = -1;
  return tn_shared_memory_create(size, "test", 4, &descriptor) == TN_OK ? descriptor : -1;
}

static void totals(uint64_t out[2]) { tn_mapping_totals(&out[0], &out[1]); }

TEST(shared_memory_has_a_fixed_size) {
  int32_t descriptor = create(SIZE);
  CHECK(descriptor >= 0);
  tn_descriptor_info_t info;
  CHECK(tn_descriptor_describe(descriptor, &info) == TN_OK);
  CHECK(info.byte_size == SIZE && info.is_regular == 1 && info.can_read == 1 && info.can_write == 1);
  CHECK((info.seals & (TN_SEAL_SHRINK | TN_SEAL_GROW)) == (TN_SEAL_SHRINK | TN_SEAL_GROW));
  CHECK(ftruncate(descriptor, SIZE / 2) != 0 && ftruncate(descriptor, SIZE * 2) != 0);
  CHECK((fcntl(descriptor, F_GETFD) & FD_CLOEXEC) != 0);
  CHECK(tn_descriptor_close(descriptor) == TN_OK);
  CHECK(tn_descriptor_close(descriptor) == TN_SYSTEM);
}

TEST(shared_memory_refuses_bad_sizes_and_labels) {
  int32_t descriptor = -1;
  CHECK(tn_shared_memory_create(0, "", 0, &descriptor) == TN_INVALID_ARGUMENT);
  CHECK(tn_shared_memory_create(UINT64_MAX, "", 0, &descriptor) == TN_INVALID_ARGUMENT);
  CHECK(tn_shared_memory_create(1, "a\0b", 3, &descriptor) == TN_INVALID_ARGUMENT);
  char label[250];
  memset(label, 'x', sizeof label);
  CHECK(tn_shared_memory_create(1, label, sizeof label, &descriptor) == TN_INVALID_ARGUMENT);
  CHECK(tn_shared_memory_create(1, label, sizeof label - 1, &descriptor) == TN_OK);
  CHECK(tn_descriptor_close(descriptor) == TN_OK);
}

TEST(mappings_are_counted_and_shared) {
  int32_t descriptor = create(SIZE);
  uint64_t before[2], during[2], after[2];
  totals(before);
  void *writable = NULL, *private = NULL;
  CHECK(tn_mapping_open(descriptor, 0, SIZE, TN_MAPPING_SHARED, &writable) == TN_OK);
  CHECK(tn_mapping_open(descriptor, 0, SIZE, 0, &private) == TN_OK);
  totals(during);
  CHECK(during[0] == before[0] + 2 && during[1] == before[1] + 2 * SIZE);
  ((uint8_t *)writable)[5] = 7;
  CHECK(((uint8_t *)private)[5] == 7);
  ((uint8_t *)private)[4096] = 9; /* a private copy of the page */
  CHECK(((uint8_t *)writable)[4096] == 0);
  CHECK(tn_mapping_close(writable, SIZE) == TN_OK);
  CHECK(tn_mapping_close(private, SIZE) == TN_OK);
  totals(after);
  CHECK(after[0] == before[0] && after[1] == before[1]);
  CHECK(tn_mapping_open(descriptor, 1, SIZE, 0, &private) == TN_SYSTEM);
  CHECK(tn_mapping_open(descriptor, 0, SIZE, 64, &private) == TN_INVALID_ARGUMENT);
  CHECK(tn_descriptor_close(descriptor) == TN_OK);
}

TEST(frozen_memory_cannot_be_mapped_for_writing) {
  int32_t descriptor = create(SIZE);
  void *address = NULL;
  CHECK(tn_mapping_open(descriptor, 0, SIZE, TN_MAPPING_SHARED, &address) == TN_OK);
  CHECK(tn_shared_memory_seal(descriptor, TN_SEAL_WRITE) == TN_SYSTEM); /* it is mapped */
  CHECK(tn_mapping_close(address, SIZE) == TN_OK);
  CHECK(tn_shared_memory_seal(descriptor, TN_SEAL_WRITE | TN_SEAL_SEAL) == TN_OK);
  CHECK(tn_mapping_open(descriptor, 0, SIZE, TN_MAPPING_SHARED, &address) == TN_SYSTEM);
  CHECK(tn_mapping_open(descriptor, 0, SIZE, 0, &address) == TN_OK);
  CHECK(tn_mapping_close(address, SIZE) == TN_OK);
  CHECK(tn_descriptor_close(descriptor) == TN_OK);
}

TEST(a_truncated_file_reads_as_zeros_under_the_guard) {
  char path[] = "/tmp/tenon-guard-XXXXXX";
  int descriptor = mkstemp(path);
  CHECK(descriptor >= 0);
  unlink(path);
  CHECK(ftruncate(descriptor, 4 * 4096) == 0);
  CHECK(pwrite(descriptor, "abcd", 4, 2 * 4096) == 4);
  void *address = NULL;
  uint64_t missing = 9;
  CHECK(tn_mapping_open(descriptor, 0, 4 * 4096, TN_MAPPING_GUARDED, &address) == TN_OK);
  CHECK(tn_mapping_missing(address, 4 * 4096, &missing) == TN_OK && missing == 0);
  CHECK(ftruncate(descriptor, 4096) == 0);
  CHECK(((volatile uint8_t *)address)[2 * 4096] == 0);
  CHECK(((volatile uint8_t *)address)[3 * 4096] == 0);
  CHECK(tn_mapping_missing(address, 4 * 4096, &missing) == TN_OK && missing == 2);
  CHECK(tn_mapping_close(address, 4 * 4096) == TN_OK);
  CHECK(tn_mapping_missing(address, 4096, &missing) == TN_NOT_FOUND);
  close(descriptor);
}

TEST(a_retired_mapping_keeps_its_addresses) {
  int32_t descriptor = create(SIZE);
  void *address = NULL;
  CHECK(tn_mapping_open(descriptor, 0, SIZE, TN_MAPPING_SHARED, &address) == TN_OK);
  ((volatile uint8_t *)address)[0] = 5;
  CHECK(tn_mapping_retire(address, SIZE) == TN_OK);
  CHECK(((volatile uint8_t *)address)[0] == 0);
  ((volatile uint8_t *)address)[0] = 6; /* no effect on the file */
  CHECK(tn_shared_memory_seal(descriptor, TN_SEAL_WRITE) == TN_OK);
  CHECK(tn_mapping_close(address, SIZE) == TN_OK);
  CHECK(tn_descriptor_close(descriptor) == TN_OK);
}

TEST(a_descriptor_is_described) {
  tn_descriptor_info_t info;
  int device = open("/dev/zero", O_RDWR | O_CLOEXEC);
  CHECK(tn_descriptor_describe(device, &info) == TN_OK && info.is_regular == 0);
  int32_t copy = -1;
  CHECK(tn_descriptor_duplicate(device, &copy) == TN_OK && copy != device);
  CHECK((fcntl(copy, F_GETFD) & FD_CLOEXEC) != 0);
  close(device);
  CHECK(tn_descriptor_close(copy) == TN_OK);
  CHECK(tn_descriptor_describe(copy, &info) == TN_SYSTEM);
  CHECK(tn_descriptor_duplicate(-1, &copy) == TN_SYSTEM);
}

TEST(a_punched_range_reads_as_zeros_until_the_memory_is_sealed) {
  int32_t descriptor = create(SIZE);
  uint8_t *memory;
  CHECK(tn_mapping_open(descriptor, 0, SIZE, TN_MAPPING_SHARED, (void **)&memory) == TN_OK);
  memset(memory, 7, SIZE);
  CHECK(tn_shared_memory_punch(descriptor, 4096, 4096) == TN_OK);
  CHECK(memory[4095] == 7 && memory[4096] == 0 && memory[SIZE - 1] == 0);
  tn_descriptor_info_t info;
  CHECK(tn_descriptor_describe(descriptor, &info) == TN_OK && info.byte_size == SIZE);
  CHECK(tn_shared_memory_punch(descriptor, UINT64_MAX, 1) == TN_INVALID_ARGUMENT);
  CHECK(tn_shared_memory_punch(-1, 0, 4096) == TN_SYSTEM);
  CHECK(tn_shared_memory_seal(descriptor, TN_SEAL_FUTURE_WRITE) == TN_OK);
  CHECK(tn_shared_memory_punch(descriptor, 0, 4096) == TN_SYSTEM && memory[0] == 7);
  CHECK(tn_mapping_close(memory, SIZE) == TN_OK && tn_descriptor_close(descriptor) == TN_OK);
}

TEST(messages_of_any_contents_are_received_with_their_descriptors) {
  int before = open_descriptors();
  int32_t ends[2], descriptors[TN_FRAME_DESCRIPTORS];
  size_t length = 0, count = 0;
  char bytes[8];
  CHECK(tn_channel_pair(0, ends) == TN_OK);
  CHECK(tn_shared_memory_receive(ends[1], bytes, sizeof bytes, &length, descriptors, &count, 0) == TN_TIMED_OUT);
  CHECK(tn_channel_send(ends[0], "memory", 6, ends, 2, 0) == TN_OK);
  CHECK(tn_shared_memory_receive(ends[1], bytes, sizeof bytes, &length, descriptors, &count, 0) == TN_OK);
  CHECK(length == 6 && count == 2 && memcmp(bytes, "memory", 6) == 0);
  for (size_t i = 0; i < count; i++) CHECK(tn_descriptor_close(descriptors[i]) == TN_OK);
  /* Longer than the room: its descriptors are closed. */
  CHECK(tn_channel_send(ends[0], "too long for it", 15, ends, 2, 0) == TN_OK);
  CHECK(tn_shared_memory_receive(ends[1], bytes, sizeof bytes, &length, descriptors, &count, 0) == TN_INVALID_ARGUMENT);
  CHECK(tn_descriptor_close(ends[0]) == TN_OK);
  CHECK(tn_shared_memory_receive(ends[1], bytes, sizeof bytes, &length, descriptors, &count, 0) == TN_CLOSED);
  CHECK(tn_shared_memory_receive(ends[1], NULL, 0, &length, descriptors, &count, 0) == TN_INVALID_ARGUMENT);
  CHECK(tn_descriptor_close(ends[1]) == TN_OK);
  CHECK(comes_to(before));
}

TEST(a_listener_may_have_a_socket_of_messages_or_of_a_stream) {
  const int types[] = {SOCK_SEQPACKET, SOCK_STREAM};
  for (size_t i = 0; i < 2; i++) {
    int before = open_descriptors();
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int length = snprintf(address.sun_path, sizeof address.sun_path, "/tmp/tenon-type-test-%d", (int)getpid());
    int listener = socket(AF_UNIX, types[i], 0);
    CHECK(bind(listener, (struct sockaddr *)&address, sizeof address) == 0 && listen(listener, 1) == 0);
    int32_t channel = -1;
    CHECK(tn_shared_memory_connect(address.sun_path, (size_t)length, 1000000, &channel) == TN_OK);
    int accepted = accept(listener, NULL, NULL), type = -1;
    socklen_t size = sizeof type;
    CHECK(getsockopt(channel, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == types[i]);
    CHECK(tn_descriptor_close(channel) == TN_OK);
    close(accepted);
    close(listener);
    unlink(address.sun_path);
    CHECK(open_descriptors() == before);
  }
}

TEST(connecting_ends_where_nobody_listens_or_accepts) {
  char path[64];
  const size_t length = (size_t)snprintf(path, sizeof path, "/tmp/tenon-memory-test-%d", (int)getpid());
  int32_t listener, channel, all[200];
  int count = 0;
  CHECK(tn_shared_memory_connect(path, length, 1000000, &channel) == TN_NOT_FOUND);
  CHECK(tn_channel_listen(path, length, &listener) == TN_OK);
  int32_t status;
  while (count < 200 && (status = tn_shared_memory_connect(path, length, 1000000, &all[count])) == TN_OK) count++;
  CHECK(count > 0 && count < 200 && status == TN_TIMED_OUT);
  CHECK(tn_descriptor_close(listener) == TN_OK);
  CHECK(tn_shared_memory_connect(path, length, 1000000, &channel) == TN_NOT_FOUND);
  while (count > 0) CHECK(tn_descriptor_close(all[--count]) == TN_OK);
  CHECK(unlink(path) == 0);
  CHECK(tn_shared_memory_connect(path, 0, 1, &channel) == TN_INVALID_ARGUMENT);
  CHECK(tn_shared_memory_connect(path, length, 0, &channel) == TN_INVALID_ARGUMENT);
}
#endif
