/* Memory that processes share by descriptor. It has a fixed size and no name that others could guess. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/vfs.h>
#else
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#endif

#include "base/status.h"
#include "base/owned.h"
#include "base/socket.h"
#include "tenon_pools.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x8u
#endif

/* The kernel takes labels of at most 249 bytes. */
#define LABEL_MAXIMUM 249

/* Closes a descriptor that failed. Returns -1 and keeps errno. */
static int give_up(int descriptor) {
  int reason = errno;
  close(descriptor);
  errno = reason;
  return -1;
}

#if defined(__linux__)

#define HAS_NO_CONTENTS(access) (((access) & O_PATH) != 0)

#define DMA_BUF_FILE_SYSTEM 0x444d4142u

/* Creates memory of a fixed size. Returns -1 and sets errno on failure. */
static int create_memory(const char *name, off_t byte_size) {
  int descriptor = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
  /* Kernels before 6.3 refuse the last flag. */
  if (descriptor < 0 && errno == EINVAL) descriptor = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0) return -1;
  if (ftruncate(descriptor, byte_size) == 0 && fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0)
    return descriptor;
  return give_up(descriptor);
}

static uint32_t seals_of(int descriptor) {
  int seals = fcntl(descriptor, F_GET_SEALS);
  return seals < 0 ? 0 : (uint32_t)seals;
}

/* Sets the fields that only the file system of a descriptor knows. */
static int look_up(int descriptor, const struct stat *status, tn_descriptor_info_t *info) {
  struct statfs file_system;
  if (fstatfs(descriptor, &file_system) != 0) return -1;
  info->file_system = (uint64_t)file_system.f_type & 0xffffffffu;
  info->is_regular = S_ISREG(status->st_mode) ? 1 : 0;
  info->is_dma_buf = info->file_system == DMA_BUF_FILE_SYSTEM;
  /* The size of a dma-buf is the offset of its end. */
  if (info->is_dma_buf) {
    off_t end = lseek(descriptor, 0, SEEK_END);
    if (end < 0 || lseek(descriptor, 0, SEEK_SET) < 0) return -1;
    info->byte_size = (uint64_t)end;
  }
  return 0;
}

#else

#define HAS_NO_CONTENTS(access) ((void)(access), 0)

/* Creates memory under a name that others cannot guess and that is removed at once. Its size can be set only once. */
static int create_memory(const char *name, off_t byte_size) {
  (void)name;
  char path[32];
  snprintf(path, sizeof path, "/tenon-%08x%08x", arc4random(), arc4random());
  int descriptor = shm_open(path, O_RDWR | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR);
  if (descriptor < 0) return -1;
  if (shm_unlink(path) == 0 && fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 && ftruncate(descriptor, byte_size) == 0)
    return descriptor;
  return give_up(descriptor);
}

/* Memory of shm_open() has no file type. Its size cannot be set a second time, which corresponds to two seals. */
static uint32_t seals_of(int descriptor) {
  struct stat status;
  if (fstat(descriptor, &status) != 0 || (status.st_mode & S_IFMT) != 0) return 0;
  return TN_SEAL_SHRINK | TN_SEAL_GROW;
}

static int look_up(int descriptor, const struct stat *status, tn_descriptor_info_t *info) {
  info->is_regular = S_ISREG(status->st_mode) || info->seals != 0;
  struct statfs file_system;
  /* Memory has no file system. */
  info->file_system = fstatfs(descriptor, &file_system) == 0 && (file_system.f_flags & MNT_LOCAL) != 0;
  return 0;
}

#endif

int32_t tn_shared_memory_create(uint64_t byte_size, const char *label, size_t label_length, int32_t *out) {
  TN_REQUIRE(label != NULL && out != NULL, "label and out must not be null");
  TN_REQUIRE(byte_size != 0 && byte_size <= INT64_MAX, "byte_size must be from 1 to 2^63 - 1");
  TN_REQUIRE(label_length <= LABEL_MAXIMUM && memchr(label, 0, label_length) == NULL,
             "label must have at most %d bytes and no NUL", LABEL_MAXIMUM);
  char name[LABEL_MAXIMUM + 1];
  memcpy(name, label, label_length);
  name[label_length] = 0;
  int descriptor = create_memory(name, (off_t)byte_size);
  TN_TRY(tn__system(descriptor, "creating shared memory"));
  tn__owned_note_descriptor(descriptor);
  *out = descriptor;
  return TN_OK;
}

int32_t tn_shared_memory_seal(int32_t descriptor, uint32_t seals) {
#if !defined(__linux__)
  (void)descriptor, (void)seals;
  return tn__fail(TN_UNSUPPORTED, "memory can be sealed only on Linux");
#else
  return tn__system(fcntl(descriptor, F_ADD_SEALS, (int)seals), "sealing the memory");
#endif
}

int32_t tn_shared_memory_punch(int32_t descriptor, uint64_t offset, uint64_t byte_size) {
#if !defined(__linux__)
  (void)descriptor, (void)offset, (void)byte_size;
  return tn__fail(TN_UNSUPPORTED, "memory can be given back in parts only on Linux");
#else
  TN_REQUIRE(offset <= INT64_MAX && byte_size <= INT64_MAX, "offset and byte_size must be below 2^63");
  const int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  int result;
  TN__REPEAT(result, fallocate(descriptor, mode, (off_t)offset, (off_t)byte_size));
  return tn__system(result, "giving memory back");
#endif
}

int32_t tn_descriptor_seals(int32_t descriptor, uint32_t *out) {
  TN_REQUIRE(out != NULL, "out must not be null");
  TN_TRY(tn__system(fcntl(descriptor, F_GETFL), "examining the descriptor"));
  *out = seals_of(descriptor);
  return TN_OK;
}

int32_t tn_descriptor_describe(int32_t descriptor, tn_descriptor_info_t *out) {
  TN_REQUIRE(out != NULL, "out must not be null");
  struct stat status;
  int access = fcntl(descriptor, F_GETFL);
  TN_TRY(tn__system(access < 0 ? -1 : fstat(descriptor, &status), "examining the descriptor"));
  int is_open = !HAS_NO_CONTENTS(access);
  tn_descriptor_info_t info = {
      .byte_size = (uint64_t)status.st_size,
      .device = (uint64_t)status.st_dev,
      .inode = (uint64_t)status.st_ino,
      .seals = seals_of(descriptor),
      .can_read = is_open && (access & O_ACCMODE) != O_WRONLY,
      .can_write = is_open && (access & O_ACCMODE) != O_RDONLY,
  };
  TN_TRY(tn__system(look_up(descriptor, &status, &info), "examining the descriptor"));
  *out = info;
  return TN_OK;
}

int32_t tn_descriptor_duplicate(int32_t descriptor, int32_t *out) {
  TN_REQUIRE(out != NULL, "out must not be null");
  int copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
  TN_TRY(tn__system(copy, "duplicating the descriptor"));
  tn__owned_note_descriptor(copy);
  *out = copy;
  return TN_OK;
}

int32_t tn_descriptor_close(int32_t descriptor) {
  tn__owned_forget_descriptor(descriptor);
  return tn__system(close(descriptor) != 0 && errno != EINTR ? -1 : 0, "closing the descriptor");
}
