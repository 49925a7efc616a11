/* Sockets between the processes and threads of one machine. */
#pragma once

#include <errno.h>
#include <sys/socket.h>

#include "base/status.h"

#define TN__SECOND ((int64_t)1000000000)

/* Systems without this flag set SO_NOSIGPIPE on the socket instead: see tn__socket_prepare(). */
#if !defined(MSG_NOSIGNAL)
#define MSG_NOSIGNAL 0
#endif

/* Repeats a system call until no signal interrupts it. */
#define TN__REPEAT(result, call) \
  do result = (call);            \
  while (result < 0 && errno == EINTR)

/* The nanoseconds of a clock that only goes forward. */
int64_t tn__now(void);

/* Fails with TN_CLOSED if errno says that the peer has closed its end, otherwise with TN_SYSTEM. */
int32_t tn__socket_failed(const char *what);

/* Does the same, and closes a socket that failed, unless it is negative. */
int32_t tn__socket_give_up(int socket, const char *what);

/* Calls poll() with a limit in nanoseconds, as exactly as the system can; a negative limit waits forever. */
struct pollfd;
int tn__socket_poll(struct pollfd *entries, size_t count, int64_t nanoseconds);

/* Waits for events on one socket; `deadline` is a time of tn__now(), or negative for none. */
int32_t tn__socket_wait(int socket, short events, int64_t deadline);

/* Makes a socket close in child processes, raise no signal when its peer has closed, and have buffers of `buffer_size`
 * bytes (0 leaves the size to the system). Returns 0, or another number and errno. */
int tn__socket_prepare(int socket, int buffer_size);

/* Opens a prepared socket of this machine. */
int32_t tn__socket_open(int type, int buffer_size, int32_t *out);

/* Opens a pair of prepared sockets that are connected with each other. */
int32_t tn__socket_pair(int type, int buffer_size, int32_t out[2]);
