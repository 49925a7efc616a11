/* Memory that processes share by descriptor: created with a fixed size, and never by a name that others could guess. */
#include <errno.h>
#include <string.h>

#include "../internal.h"

#if defined(__linux__)
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x8u
#endif

/* The kernel takes labels of at most 249 bytes. */
#define LABEL_MAXIMUM 249

static int create_sealable(const char *name) {
  int descriptor = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
  /* Kernels before 6.3 don't know the last flag. */
  if (descriptor < 0 && errno == EINVAL) descriptor = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  return descriptor;
}

int32_t tn_shared_memory_create(uint64_t byte_size, const char *label, size_t label_length, int32_t *out) {
  if (label == NULL || out == NULL) return tn__fail(TN_INVALID_ARGUMENT, "label and out must not be null");
  if (byte_size == 0 || byte_size > INT64_MAX)
    return tn__fail(TN_INVALID_ARGUMENT, "byte_size must be from 1 to 2^63 - 1");
  if (label_length > LABEL_MAXIMUM || memchr(label, 0, label_length) != NULL)
    return tn__fail(TN_INVALID_ARGUMENT, "label must have at most %d bytes and no NUL", LABEL_MAXIMUM);
  char name[LABEL_MAXIMUM + 1];
  memcpy(name, label, label_length);
  name[label_length] = 0;
  int descriptor = create_sealable(name);
  if (descriptor < 0) return tn__fail(TN_SYSTEM, "memory could not be created: %s", strerror(errno));
  if (ftruncate(descriptor, (off_t)byte_size) != 0 || fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
    int reason = errno;
    close(descriptor);
    return tn__fail(TN_SYSTEM, "memory of %llu bytes could not be made: %s", (unsigned long long)byte_size, strerror(reason));
  }
  *out = descriptor;
  return TN_OK;
}

int32_t tn_shared_memory_seal(int32_t descriptor, uint32_t seals) {
  if (fcntl(descriptor, F_ADD_SEALS, (int)seals) != 0)
    return tn__fail(TN_SYSTEM, "the memory could not be sealed: %s", strerror(errno));
  return TN_OK;
}

int32_t tn_descriptor_describe(int32_t descriptor, tn_descriptor_info_t *out) {
  if (out == NULL) return tn__fail(TN_INVALID_ARGUMENT, "out must not be null");
  struct stat status;
  struct statfs file_system;
  int access = fcntl(descriptor, F_GETFL);
  if (access < 0 || fstat(descriptor, &status) != 0 || fstatfs(descriptor, &file_system) != 0)
    return tn__fail(TN_SYSTEM, "the descriptor could not be examined: %s", strerror(errno));
  int seals = fcntl(descriptor, F_GET_SEALS);
  int opened_for_path = (access & O_PATH) != 0;
  *out = (tn_descriptor_info_t){
      .byte_size = (uint64_t)status.st_size,
      .device = (uint64_t)status.st_dev,
      .inode = (uint64_t)status.st_ino,
      .file_system = (uint64_t)file_system.f_type & 0xffffffffu,
      .is_regular = S_ISREG(status.st_mode) ? 1 : 0,
      .seals = seals < 0 ? 0 : (uint32_t)seals,
      .can_read = !opened_for_path && (access & O_ACCMODE) != O_WRONLY,
      .can_write = !opened_for_path && (access & O_ACCMODE) != O_RDONLY,
  };
  return TN_OK;
}

int32_t tn_descriptor_duplicate(int32_t descriptor, int32_t *out) {
  if (out == NULL) return tn__fail(TN_INVALID_ARGUMENT, "out must not be null");
  int copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
  if (copy < 0) return tn__fail(TN_SYSTEM, "the descriptor could not be duplicated: %s", strerror(errno));
  *out = copy;
  return TN_OK;
}

int32_t tn_descriptor_close(int32_t descriptor) {
  if (close(descriptor) != 0 && errno != EINTR)
    return tn__fail(TN_SYSTEM, "the descriptor could not be closed: %s", strerror(errno));
  return TN_OK;
}

#else

static int32_t unsupported(void) { return tn__fail(TN_UNSUPPORTED, "this platform has no sealed shared memory"); }

int32_t tn_shared_memory_create(uint64_t byte_size, const char *label, size_t label_length, int32_t *out) {
  (void)byte_size, (void)label, (void)label_length, (void)out;
  return unsupported();
}
int32_t tn_shared_memory_seal(int32_t descriptor, uint32_t seals) {
  (void)descriptor, (void)seals;
  return unsupported();
}
int32_t tn_descriptor_describe(int32_t descriptor, tn_descriptor_info_t *out) {
  (void)descriptor, (void)out;
  return unsupported();
}
int32_t tn_descriptor_duplicate(int32_t descriptor, int32_t *out) {
  (void)descriptor, (void)out;
  return unsupported();
}
int32_t tn_descriptor_close(int32_t descriptor) {
  (void)descriptor;
  return unsupported();
}

#endif
