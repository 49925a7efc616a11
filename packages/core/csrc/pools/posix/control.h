#pragma once

#include <sys/uio.h>

#include "base/owned.h"
#include "base/socket.h"
#include "tenon_pools.h"

/* Systems without this flag set FD_CLOEXEC on each descriptor afterwards: see tn__control_take(). */
#if !defined(MSG_CMSG_CLOEXEC)
#define MSG_CMSG_CLOEXEC 0
#endif

/* Room for one descriptor more than a message has, because the kernel rounds up anyway. Those in excess are closed. */
typedef union {
  struct cmsghdr header;
  char room[CMSG_SPACE(sizeof(int) * (TN_FRAME_DESCRIPTORS + 1))];
} tn__control_t;

/* A message to be received into `part`, with its descriptors in `control`. */
static inline struct msghdr tn__control_message(struct iovec *part, tn__control_t *control) {
  return (struct msghdr){
      .msg_iov = part, .msg_iovlen = 1, .msg_control = control->room, .msg_controllen = sizeof control->room};
}

/* Adds descriptors to a message to be sent; `control` must live until then. */
void tn__control_write(struct msghdr *message, tn__control_t *control, const int32_t *descriptors, size_t count);

/* Takes the descriptors out of any control data, closes those beyond `capacity`, and returns how many there were. */
size_t tn__control_take(struct msghdr *message, int32_t *descriptors, size_t capacity);

/* Ends a receipt of `taken` descriptors: writes their number on success, otherwise closes them. Returns `status`. */
int32_t tn__control_finish(int32_t status, int32_t *descriptors, size_t taken, size_t *count);
