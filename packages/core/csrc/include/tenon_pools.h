/* Memory pools: shared memory, channels between processes, and fences. The rules of tenon.h hold for every function. */
#ifndef TENON_POOLS_H
#define TENON_POOLS_H

#include "tenon.h"

/* Windows does not export the functions of this header. */

/* --- pools/posix/shared_memory.c ---------------------------------------------------------------------------------- */

/* Seals of shared memory, with Linux's values. Each forbids one kind of change for ever. */
#define TN_SEAL_SEAL 0x1u         /* adding seals */
#define TN_SEAL_SHRINK 0x2u       /* making it smaller, which would remove pages that a reader has mapped */
#define TN_SEAL_GROW 0x4u         /* making it larger */
#define TN_SEAL_WRITE 0x8u        /* changing its contents in any way */
#define TN_SEAL_FUTURE_WRITE 0x10u /* changing its contents, except through mappings that exist already */

/* The kernel's description of a descriptor. */
typedef struct {
  uint64_t byte_size;
  uint64_t device; /* identifies the file, together with `inode` */
  uint64_t inode;
  uint64_t file_system; /* Linux: f_type of statfs(); elsewhere 1 for a local file system, 0 for one of a network */
  uint32_t is_regular;  /* 1 for memory and files; 0 for devices, pipes, sockets, directories */
  uint32_t seals;       /* TN_SEAL_*; 0 where seals are not supported */
  uint32_t can_read;
  uint32_t can_write;
  uint32_t is_dma_buf; /* 1 for a dma-buf: memory of a device, which cannot shrink */
} tn_descriptor_info_t;

/* Creates zeroed anonymous memory of a fixed size, with TN_SEAL_SHRINK and TN_SEAL_GROW. The label appears in /proc
 * only. The caller owns the descriptor, which child processes do not inherit. */
TN_API int32_t tn_shared_memory_create(uint64_t byte_size, const char *label, size_t label_length, int32_t *out);

/* Adds seals. The kernel refuses TN_SEAL_WRITE while the memory has shared mappings. */
TN_API int32_t tn_shared_memory_seal(int32_t descriptor, uint32_t seals);

/* Gives the pages of a range back to the system. The range reads as zeros then. The kernel refuses this once the memory has
 * TN_SEAL_WRITE or TN_SEAL_FUTURE_WRITE. TN_UNSUPPORTED: not on Linux. */
TN_API int32_t tn_shared_memory_punch(int32_t descriptor, uint64_t offset, uint64_t byte_size);

/* pools/posix/shared_message.c: connects to a listener of messages, or of a stream. The caller owns the channel. TN_NOT_FOUND:
 * nobody listens. TN_TIMED_OUT: the queue of the listener has had no room for `timeout` ns. */
TN_API int32_t tn_shared_memory_connect(const char *path, size_t path_length, int64_t timeout, int32_t *out);

/* Receives one message of at most `capacity` bytes into `bytes`, and its descriptors, which the
 * caller then owns, into `descriptors` (room for TN_FRAME_DESCRIPTORS). Unlike tn_channel_receive(), it does not check the
 * contents. TN_INVALID_ARGUMENT: the message is longer or has more descriptors; it is consumed and they are closed. TN_CLOSED: the
 * peer has closed its end. TN_TIMED_OUT: no message has arrived within `timeout` ns. */
TN_API int32_t tn_shared_memory_receive(int32_t channel, void *bytes, size_t capacity, size_t *length,
                                        int32_t *descriptors, size_t *count, int64_t timeout);

TN_API int32_t tn_descriptor_describe(int32_t descriptor, tn_descriptor_info_t *out);

/* The seals, or 0 where they are not supported. Does not ask the descriptor's file system, which may never answer. */
TN_API int32_t tn_descriptor_seals(int32_t descriptor, uint32_t *out);

/* Duplicates a descriptor. The caller owns the duplicate, which child processes do not inherit. */
TN_API int32_t tn_descriptor_duplicate(int32_t descriptor, int32_t *out);

TN_API int32_t tn_descriptor_close(int32_t descriptor);

/* pools/posix/thread_memory.c: from now on, the end of this thread of JavaScript, however it ends, closes the descriptors that
 * functions of this header return on it, and the mappings with TN_MAPPING_OF_THREAD, except those that were closed before. They are
 * closed with tn_descriptor_close(), tn_descriptor_discard() and tn_mapping_close() only. Idempotent. TN_CLOSED: the thread has no
 * environment. */
TN_API int32_t tn_thread_memory_begin(void);

/* Leaves a descriptor to somebody else, who closes it by other means. */
TN_API void tn_thread_memory_leave(int32_t descriptor);

/* pools/posix/discard.c: closes a peer's descriptor, on another thread if its file system could block forever. */
TN_API int32_t tn_descriptor_discard(int32_t descriptor);

/* --- pools/posix/dma_buf.c ---------------------------------------------------------------------------------------- */

/* Creates a zeroed dma-buf of whole pages with /dev/udmabuf, or with the system's heap. The caller owns the descriptor.
 * TN_UNSUPPORTED: both are missing or refuse. */
TN_API int32_t tn_dma_buf_create(uint64_t byte_size, int32_t *out);

#define TN_DMA_BUF_WRITE 1u /* the CPU also writes */
#define TN_DMA_BUF_END 2u   /* the access ends; without it, the access begins */

/* Begins or ends an access of the CPU to a dma-buf. In between, devices and the CPU see the same contents. */
TN_API int32_t tn_dma_buf_access(int32_t descriptor, uint32_t flags);

/* --- pools/posix/channel.c, pools/message.c ----------------------------------------------------------------------- */

/* The largest size of a message, and the most descriptors that it can have. */
#define TN_FRAME_MAXIMUM 65536u
#define TN_FRAME_DESCRIPTORS 16u

/* The start of every message. All numbers of messages are little-endian. */
#define TN_FRAME_MAGIC 0x4c4f4f50u
#define TN_FRAME_VERSION 1u
typedef struct {
  uint32_t magic;
  uint16_t version;
  uint16_t operation;   /* 1 to TN_FRAME_OPERATIONS; a reply has TN_FRAME_REPLY set */
  uint32_t length;      /* of the whole message */
  uint16_t descriptors; /* the number of descriptors of the message */
  uint16_t flags;       /* TN_FRAME_RING */
  uint64_t id;          /* of the request, repeated by the reply */
  uint64_t timeout;     /* ns from now until the reply must have come; 0 for no limit */
  int32_t status;       /* of a reply: an error status of NNAPI */
  uint32_t priority;    /* of a request: 0 low, 1 medium, 2 high; of a reply 0 */
} tn_frame_t;
#define TN_FRAME_REPLY 0x8000u
#define TN_FRAME_RING 1u /* a byte on the doorbell announces the reply */
#define TN_FRAME_OPERATIONS 17u
#define TN_FRAME_EXECUTE 4u

/* A request to execute. After the header comes this, then `pools` pairs (kind 0 with the id of a pool, or 1 with a
 * token), then the arguments, inputs first, then `dimensions` numbers: the dimensions of the arguments, in order. */
typedef struct {
  uint32_t model;
  uint16_t inputs;
  uint16_t outputs;
  uint16_t pools;
  uint16_t reserved; /* 0 */
  uint32_t dimensions;
} tn_frame_execute_t;

typedef struct {
  uint32_t has_no_value; /* 0 or 1 */
  uint32_t pool;
  uint32_t offset;
  uint32_t length;
  uint32_t padding;
  uint32_t rank;
} tn_frame_argument_t;

/* A reply to it with status 0. After the header comes this, then a pair (sufficient, rank) for each output, then
 * `dimensions` numbers. */
typedef struct {
  uint32_t outputs;
  uint32_t dimensions;
  uint64_t driver_time; /* ns; UINT64_MAX if unknown */
} tn_frame_result_t;

/* Checks the sizes, counts and reserved fields of a message from a peer, and the layout of the two messages above.
 * Other values are checked where they are used. */
TN_API int32_t tn_frame_check(const void *bytes, size_t length, size_t descriptors);

/* Opens two connected sockets that preserve the boundaries of messages (`stream` 0) or are a stream of bytes (1). The
 * caller owns them. */
TN_API int32_t tn_channel_pair(int32_t stream, int32_t out[2]);

/* Listens for connections of this user at a path of the file system, which must not exist yet. */
TN_API int32_t tn_channel_listen(const char *path, size_t path_length, int32_t *out);

TN_API int32_t tn_channel_connect(const char *path, size_t path_length, int32_t *out);

/* Accepts the next connection. TN_TIMED_OUT: no connection is waiting. */
TN_API int32_t tn_channel_accept(int32_t listener, int32_t *out);

/* The user at the other end of an accepted connection. */
TN_API int32_t tn_channel_peer(int32_t channel, uint32_t *user);

/* Sends one message with descriptors, which the caller still owns. Waits at most `timeout` ns for room, or forever if
 * negative. TN_CLOSED: the peer has closed its end. TN_TIMED_OUT: the peer does not read. */
TN_API int32_t tn_channel_send(int32_t channel, const void *bytes, size_t length, const int32_t *descriptors,
                               size_t count, int64_t timeout);

/* Receives one message that passes tn_frame_check() into `bytes` (room for TN_FRAME_MAXIMUM), and its descriptors,
 * which the caller then owns, into `descriptors` (room for TN_FRAME_DESCRIPTORS). TN_INVALID_ARGUMENT: the message is
 * malformed; it is consumed and its descriptors are closed. TN_CLOSED: the peer has closed its end. TN_TIMED_OUT: no
 * message has arrived. */
TN_API int32_t tn_channel_receive(int32_t channel, void *bytes, int32_t *descriptors, size_t *count, int64_t timeout);

/* Waits until a message or a connection is waiting on a socket, or a peer has closed its end. Sets the places of such
 * sockets in `ready` to 1, the others to 0. TN_TIMED_OUT: there are none. */
TN_API int32_t tn_channel_poll(const int32_t *channels, size_t count, int64_t timeout, uint8_t *ready);

/* Writes one byte to a stream to wake its peer, unless the stream is full. TN_CLOSED: the peer has closed its end. */
TN_API int32_t tn_channel_ring(int32_t stream);

/* Ends a connection for all who have one of its two ends. What was sent before can still be received. */
TN_API int32_t tn_channel_shut(int32_t channel);

/* Ends this process as soon as the peer of a channel, which stays open, has closed its end, whatever the other threads do. */
TN_API int32_t tn_channel_exit_with_peer(int32_t channel);

/* The most descriptors that this process can have open; UINT64_MAX for any number. */
TN_API int32_t tn_descriptor_limit(uint64_t *out);

/* --- pools/posix/poll_set.c --------------------------------------------------------------------------------------- */

/* Opens a set of descriptors, which is itself readable while one of them is ready. The caller owns the descriptor. */
TN_API int32_t tn_poll_open(int32_t *out);

/* Adds a descriptor, which is ready when its peer has closed its end, and, if `reads` is not 0, when it is readable. */
TN_API int32_t tn_poll_add(int32_t set, int32_t descriptor, int32_t reads);

/* Removes a descriptor, which must happen before it is closed. */
TN_API int32_t tn_poll_remove(int32_t set, int32_t descriptor);

/* Waits at most `timeout` ns, or forever if negative, and writes the descriptors that are ready, `capacity` at most.
 * TN_TIMED_OUT: there are none. A signal may end the wait early in the same way. */
TN_API int32_t tn_poll_wait(int32_t set, int64_t timeout, int32_t *ready, size_t capacity, size_t *count);

/* --- pools/posix/fence.c ------------------------------------------------------------------------------------------ */

/* The states of a fence. */
#define TN_FENCE_ACTIVE 0
#define TN_FENCE_SIGNALED 1
#define TN_FENCE_FAILED (-1)

/* The state of a fence, which is one end of a stream of tn_channel_pair(1, ...). tn_channel_ring() on the other end
 * signals it, and closing the other end before that, also by dying, makes it fail. tn_channel_shut() makes it fail for all
 * who have it, unless it is signalled. The descriptor becomes readable in each case. TN_INVALID_ARGUMENT: the descriptor is
 * not a stream. */
TN_API int32_t tn_fence_status(int32_t fence, int32_t *out);

#endif
