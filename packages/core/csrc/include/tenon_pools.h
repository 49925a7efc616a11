/* The functions of memory pools: shared memory, channels between processes, and fences. tenon.h states the rules that hold for
 * every function. */
#ifndef TENON_POOLS_H
#define TENON_POOLS_H

#include "tenon.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Windows does not export the functions of this header. */

/* --- pools/posix/shared_memory.c ----------------------------------------------------------------------------------- */

/* Memory that processes share by descriptor. */

/* Seals of shared memory, with Linux's values: what nobody can do to it any more. */
#define TN_SEAL_SEAL 0x1u         /* adding seals */
#define TN_SEAL_SHRINK 0x2u       /* making it smaller, which would take pages away under a reader */
#define TN_SEAL_GROW 0x4u         /* making it larger */
#define TN_SEAL_WRITE 0x8u        /* changing its contents in any way */
#define TN_SEAL_FUTURE_WRITE 0x10u /* changing its contents, but through mappings that exist already */

/* What a descriptor is, as the kernel says. */
typedef struct {
  uint64_t byte_size;
  uint64_t device; /* with `inode` the identity of the file */
  uint64_t inode;
  uint64_t file_system; /* Linux: statfs f_type; elsewhere 1 for one of this machine, 0 for one of a network */
  uint32_t is_regular;  /* 1 for a file with contents: memory, a file on disk; 0 for a device, pipe, socket, directory */
  uint32_t seals;       /* TN_SEAL_*; 0 where there are none */
  uint32_t can_read;
  uint32_t can_write;
  uint32_t is_dma_buf; /* 1 for a dma-buf: memory of a device, which nobody can shrink */
} tn_descriptor_info_t;

/* Creates anonymous memory of a fixed size, zeroed, with TN_SEAL_SHRINK and TN_SEAL_GROW; the label appears in /proc alone.
 * The caller owns the descriptor, which no child process inherits. */
TN_API int32_t tn_shared_memory_create(uint64_t byte_size, const char *label, size_t label_length, int32_t *out);

/* Adds seals. TN_SEAL_WRITE is refused by the kernel while the memory is mapped shared. */
TN_API int32_t tn_shared_memory_seal(int32_t descriptor, uint32_t seals);

TN_API int32_t tn_descriptor_describe(int32_t descriptor, tn_descriptor_info_t *out);

/* The seals of a descriptor alone, without a word to the file system behind it, which may never answer. 0 where there are
 * none. */
TN_API int32_t tn_descriptor_seals(int32_t descriptor, uint32_t *out);

/* Another descriptor for the same thing, not inherited by child processes. The caller owns it. */
TN_API int32_t tn_descriptor_duplicate(int32_t descriptor, int32_t *out);

/* Closes a descriptor, once. */
TN_API int32_t tn_descriptor_close(int32_t descriptor);

/* pools/posix/discard.c: closes a descriptor that came from a peer, once: on a thread of its own, unless it is known that it
 * closes at once, since the file system behind it may never answer. */
TN_API int32_t tn_descriptor_discard(int32_t descriptor);

/* --- pools/posix/dma_buf.c ------------------------------------------------------------------------------------------------ */

/* Creates a dma-buf of whole pages, zeroed, from /dev/udmabuf or else from the heap of the system. TN_UNSUPPORTED where
 * there is neither, or they refuse. The caller owns the descriptor. */
TN_API int32_t tn_dma_buf_create(uint64_t byte_size, int32_t *out);

#define TN_DMA_BUF_WRITE 1u /* the CPU will write as well, or did */
#define TN_DMA_BUF_END 2u   /* the access is over; without it, it begins */

/* Begins or ends an access of the CPU to the memory of a dma-buf: between the two, what devices and the CPU see is the
 * same. */
TN_API int32_t tn_dma_buf_access(int32_t descriptor, uint32_t flags);

/* --- pools/posix/channel.c, pools/message.c ---------------------------------------------------------------------------------------- */

/* Messages of at most this size, with at most this many descriptors. */
#define TN_FRAME_MAXIMUM 65536u
#define TN_FRAME_DESCRIPTORS 16u

/* The start of every message: little-endian, as all numbers of a message. */
#define TN_FRAME_MAGIC 0x4c4f4f50u
#define TN_FRAME_VERSION 1u
typedef struct {
  uint32_t magic;
  uint16_t version;
  uint16_t operation;   /* 1 to TN_FRAME_OPERATIONS; a reply has TN_FRAME_REPLY set */
  uint32_t length;      /* of the whole message */
  uint16_t descriptors; /* that come with it */
  uint16_t flags;       /* TN_FRAME_RING */
  uint64_t id;          /* of the request: a reply repeats it */
  uint64_t timeout;     /* ns from now that the answer may take; 0 for any time */
  int32_t status;       /* of a reply: an error status of NNAPI */
  uint32_t priority;    /* of a request: 0 low, 1 medium, 2 high; of a reply 0 */
} tn_frame_t;
#define TN_FRAME_REPLY 0x8000u
#define TN_FRAME_RING 1u /* the answer is announced by a byte on the doorbell */
#define TN_FRAME_OPERATIONS 14u
#define TN_FRAME_EXECUTE 4u

/* A request to execute: this after the header, then `pools` pairs (kind 0 with a pool's id, or 1 with a token), then the
 * arguments, inputs first, then `dimensions` numbers, the arguments' in order. Nothing else. */
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

/* The answer to it when its status is 0: this after the header, then a pair (sufficient, rank) for each output, then `dimensions` numbers. */
typedef struct {
  uint32_t outputs;
  uint32_t dimensions;
  uint64_t driver_time; /* ns; UINT64_MAX if unknown */
} tn_frame_result_t;

/* Checks that a message that came from a peer is whole and says the truth about itself: sizes, counts, reserved fields, and
 * everything about the layout of the two messages above. What the numbers mean is checked where they are used. */
TN_API int32_t tn_frame_check(const void *bytes, size_t length, size_t descriptors);

/* Two connected sockets that keep the boundaries of messages (`stream` 0), or a stream of bytes (1). Owned by the caller. */
TN_API int32_t tn_channel_pair(int32_t stream, int32_t out[2]);

/* A socket that waits for connections at a path of the file system, for this user alone; the path must be free. */
TN_API int32_t tn_channel_listen(const char *path, size_t path_length, int32_t *out);

TN_API int32_t tn_channel_connect(const char *path, size_t path_length, int32_t *out);

/* The next connection; TN_TIMED_OUT if none waits. */
TN_API int32_t tn_channel_accept(int32_t listener, int32_t *out);

/* The user that a connection made by connect() comes from. */
TN_API int32_t tn_channel_peer(int32_t channel, uint32_t *user);

/* Sends one message with descriptors, which stay the caller's. Waits at most `timeout` ns for room; negative waits for
 * ever. TN_CLOSED if the peer is gone, TN_TIMED_OUT if it doesn't read. */
TN_API int32_t tn_channel_send(int32_t channel, const void *bytes, size_t length, const int32_t *descriptors,
                               size_t count, int64_t timeout);

/* Receives one message that passes tn_frame_check() into `bytes` (TN_FRAME_MAXIMUM of them), and its descriptors into
 * `descriptors` (TN_FRAME_DESCRIPTORS), which become the caller's. TN_INVALID_ARGUMENT if the message is malformed: it is
 * consumed, and its descriptors are closed. TN_CLOSED if the peer is gone, TN_TIMED_OUT if nothing came in time. */
TN_API int32_t tn_channel_receive(int32_t channel, void *bytes, int32_t *descriptors, size_t *count, int64_t timeout);

/* Sends a message without descriptors and receives the next one, as the two functions above, in one call. Descriptors of the
 * answer may be closed at once: an honest one has none. */
TN_API int32_t tn_channel_call(int32_t channel, const void *request, size_t length, void *bytes, int32_t *descriptors,
                               size_t *count, int64_t timeout);

/* Waits until a message or a connection waits on some of the sockets, or their peers are gone, and sets their places in
 * `ready` to 1, the others to 0. TN_TIMED_OUT if none is in time. */
TN_API int32_t tn_channel_poll(const int32_t *channels, size_t count, int64_t timeout, uint8_t *ready);

/* What a fence has come to. */
#define TN_FENCE_ACTIVE 0
#define TN_FENCE_SIGNALED 1
#define TN_FENCE_FAILED (-1)

/* pools/posix/fence.c: asks one end of a stream of tn_channel_pair(1, ...) what its other end did: nothing yet, tn_channel_ring(),
 * or closing without that, also by dying. Changes nothing; the descriptor is readable once it isn't active any more.
 * TN_INVALID_ARGUMENT for other descriptors. */
TN_API int32_t tn_fence_status(int32_t fence, int32_t *out);

/* Writes one byte to a stream, for a peer that sleeps; a full stream has bytes enough. TN_CLOSED if the peer is gone. */
TN_API int32_t tn_channel_ring(int32_t stream);

#ifdef __cplusplus
}
#endif
#endif
