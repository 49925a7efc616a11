/* The descriptors that travel with a message, as the control data of sendmsg() and recvmsg(). */
#include <fcntl.h>
#include <string.h>

#include "control.h"

/* CMSG_NXTHDR of musl compares a size with a difference of pointers. */
#pragma GCC diagnostic ignored "-Wsign-compare"

void tn__control_write(struct msghdr *message, tn__control_t *control, const int32_t *descriptors, size_t count) {
  memset(control, 0, sizeof *control);
  message->msg_control = control->room;
  message->msg_controllen = CMSG_SPACE(sizeof(int) * count);
  struct cmsghdr *header = CMSG_FIRSTHDR(message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int) * count);
  memcpy(CMSG_DATA(header), descriptors, sizeof(int) * count);
}

size_t tn__control_take(struct msghdr *message, int32_t *descriptors, size_t capacity) {
  size_t total = 0;
  for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header != NULL; header = CMSG_NXTHDR(message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; i++, total++) {
      int descriptor;
      memcpy(&descriptor, CMSG_DATA(header) + i * sizeof(int), sizeof descriptor);
      if (MSG_CMSG_CLOEXEC == 0) fcntl(descriptor, F_SETFD, FD_CLOEXEC);
      if (total < capacity)
        descriptors[total] = descriptor;
      else
        tn_descriptor_discard(descriptor);
    }
  }
  return total;
}

int32_t tn__control_finish(int32_t status, int32_t *descriptors, size_t taken, size_t *count) {
  if (status == TN_OK) *count = taken;
  for (size_t i = 0; i < taken && i < TN_FRAME_DESCRIPTORS; i++)
    if (status == TN_OK)
      tn__owned_note_descriptor(descriptors[i]);
    else
      tn_descriptor_discard(descriptors[i]);
  return status;
}
