#pragma once

#include "control.h"

/* Channels use sockets that keep the boundaries of messages where the system has them, and otherwise streams.
 * TN_CHANNELS_ARE_STREAMS can be defined to build and test the streams on any system. */
#if !defined(__linux__) && !defined(TN_CHANNELS_ARE_STREAMS)
#define TN_CHANNELS_ARE_STREAMS
#endif

/* Do the same as tn_channel_send() and tn_channel_receive(), over a stream. */
int32_t tn__stream_send(int socket, const void *bytes, size_t length, const int32_t *descriptors, size_t count,
                        int64_t timeout);
int32_t tn__stream_receive(int socket, void *bytes, int32_t *descriptors, size_t *count, int64_t timeout);
