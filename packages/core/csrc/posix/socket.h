/* What the files of channels share. */
#ifndef TENON_SOCKET_H
#define TENON_SOCKET_H

#include <sys/socket.h>
#include <sys/uio.h>

#include "../internal.h"

/* Where the system has sockets that keep the boundaries of messages, channels are made of them; elsewhere of streams.
 * TN_CHANNELS_ARE_STREAMS can be defined to build and test the streams where they aren't needed. */
#if !defined(__linux__) && !defined(TN_CHANNELS_ARE_STREAMS)
#define TN_CHANNELS_ARE_STREAMS
#endif

#define TN__SECOND ((int64_t)1000000000)

/* What some systems lack is done by hand afterwards: see tn__socket_prepare(). */
#if !defined(MSG_NOSIGNAL)
#define MSG_NOSIGNAL 0
#endif
#if !defined(MSG_CMSG_CLOEXEC)
#define MSG_CMSG_CLOEXEC 0
#endif

/* Room for the descriptors of a message, and one more, since the kernel rounds the room up anyway: what comes too many is
 * closed. */
typedef union {
  struct cmsghdr header;
  char room[CMSG_SPACE(sizeof(int) * (TN_FRAME_DESCRIPTORS + 1))];
} tn__control_t;

/* Nanoseconds of a clock that only goes forward. */
int64_t tn__now(void);

/* TN_CLOSED if errno says that the peer is gone, else TN_SYSTEM. */
int32_t tn__socket_failed(const char *what);

/* Waits for events on one socket; `deadline` is a time of tn__now(), or negative for none. */
int32_t tn__socket_wait(int socket, short events, int64_t deadline);

/* Adds descriptors to a message that will be sent; `control` must stay. */
void tn__control_write(struct msghdr *message, tn__control_t *control, const int32_t *descriptors, size_t count);

/* Takes the descriptors out of a received message, whatever its control data hold; closes those for which there is no
 * room. Returns how many there were. */
size_t tn__control_take(struct msghdr *message, int32_t *descriptors, size_t capacity);

/* tn_channel_send() and tn_channel_receive() over a stream. */
int32_t tn__stream_send(int socket, const void *bytes, size_t length, const int32_t *descriptors, size_t count,
                        int64_t timeout);
int32_t tn__stream_receive(int socket, void *bytes, int32_t *descriptors, size_t *count, int64_t timeout);

#endif
