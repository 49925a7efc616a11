/* Workers: processes that run kernels for this one. The rules of tenon.h hold for every function.
 *
 * A client starts a worker, which is tenon-host or a program in Node.js, and shares three things with it: command memory,
 * from which both read and write requests and answers; a control socket, which carries descriptors; and a doorbell, a
 * stream on which the worker writes a byte when an answer is ready for a client that sleeps in its event loop.
 *
 * The client trusts nothing that the worker writes: each word is read once, and then checked. */
#ifndef TENON_HOST_H
#define TENON_HOST_H

#include "tenon.h"

/* Windows does not export the functions of this header. */

/* --- Command memory: little-endian, zeroed at first, TN_HOST_COMMAND_SIZE bytes ---------------------------------- */

#define TN_HOST_MAGIC 0x534e5454u /* "TTNS" */
#define TN_HOST_VERSION 1u
#define TN_HOST_SLOTS 32u
#define TN_HOST_SLOT_SIZE 1024u
#define TN_HOST_BODY_SIZE 16384u
#define TN_HOST_SLOTS_OFFSET 4096u   /* TN_HOST_SLOTS slots, used in turn */
#define TN_HOST_BODIES_OFFSET 36864u /* the body of each slot, TN_HOST_BODY_SIZE bytes */
#define TN_HOST_OUTPUT_OFFSET 561152u /* a tn_host_output_t */
#define TN_HOST_OUTPUT_SIZE 65536u
#define TN_HOST_MODULES_OFFSET 655360u /* a list of tn_module_t, written by the worker after each library that it loads */
#define TN_HOST_MODULES_SIZE 65536u
#define TN_HOST_COMMAND_SIZE 1048576u

/* The descriptors of a worker when it starts; all others are closed. */
#define TN_HOST_CONTROL 3   /* SOCK_SEQPACKET */
#define TN_HOST_DOORBELL 4  /* SOCK_STREAM */
#define TN_HOST_COMMAND 5   /* memfd with sealed size */
#define TN_HOST_STDOUT 6    /* the reading ends of 1 and 2, if the output is captured */
#define TN_HOST_STDERR 7

/* What a worker does at the moment. */
enum { TN_HOST_IDLE = 0, TN_HOST_CONTROLLING = 1, TN_HOST_PREPARING = 2, TN_HOST_RUNNING = 3, TN_HOST_CALLING_BACK = 4 };

/* The start of command memory. The client writes the settings before the worker starts. */
typedef struct tn_host_header {
  uint32_t magic;
  uint16_t version;
  uint16_t header_size;
  uint32_t slots;
  uint32_t slot_size;
  uint32_t life_offset; /* written by the worker: the offset of the futex word of its robust mutex */
  uint32_t flags;       /* TN_HOST_GUARD, ... */
  uint64_t memory_limit; /* bytes of private writable memory; 0 for no limit */
  uint64_t grace;        /* ns between the cancellation of a call and its end by force */
  uint8_t reserved0[24];
  /* 64: requests */
  uint32_t requests;    /* futex: the number of changes of slots by the client */
  uint32_t host_sleeps; /* 1 while the worker waits for `requests` to change */
  uint8_t reserved1[56];
  /* 128: responses */
  uint32_t responses;     /* futex: the number of changes of slots by the worker */
  uint32_t client_sleeps; /* the number of threads of the client that wait for `responses` to change */
  uint32_t ring;          /* 1: the worker writes a byte to the doorbell after its next response, and sets 0 */
  uint8_t reserved2[52];
  /* 192: life, a robust process-shared pthread mutex that the main thread of the worker owns */
  uint8_t life[64];
  /* 256: the call in progress */
  uint32_t phase;    /* TN_HOST_IDLE, ... */
  uint32_t slot;     /* the slot of the call in progress */
  uint64_t id;       /* its id */
  uint64_t deadline; /* its deadline: CLOCK_MONOTONIC in ns; UINT64_MAX for none */
  uint32_t cancel;   /* futex, set by the client to the low bits of the id of the call that should end */
  uint32_t processor; /* 1 + the number of the processor on which the worker last went to sleep; 0 if it is not known */
  uint64_t refused_bytes; /* the size of the last allocation that the limit refused during this call; 0 for none */
  uint8_t reserved4[216];
  /* 512: the record of a crash, written by the signal handler or by the end of the process */
  uint32_t crash_kind;    /* 0 none, 1 signal, 2 the end of the main thread, 3 the watchdog: the client did not end a late call */
  uint32_t crash_operand; /* UINT32_MAX if the address is not in or beside an operand */
  uint32_t crash_pool;    /* the id of the memory; UINT32_MAX for none */
  uint32_t crash_target;  /* the kernel of the call */
  int64_t crash_offset;   /* of the address from the start of the operand, or of the memory */
  tn_crash_t crash;
} tn_host_header_t;

/* The settings of a worker. */
#define TN_HOST_GUARD 1u      /* operands have exact bounds, and are read-only if they are not results */
#define TN_HOST_SANDBOX 2u    /* the seccomp filter */
#define TN_HOST_CORE_DUMPS 4u /* crashes write core files */
#define TN_HOST_CAPTURE 8u    /* stdout and stderr are pipes whose contents the worker copies to the output ring */
#define TN_HOST_UNWATCHED 16u /* the worker has no watchdog, because it ends by itself when its client is gone */

/* What a client asks for. */
enum {
  TN_HOST_HELLO = 1,          /* body of the answer: tn_host_hello_t */
  TN_HOST_LOAD = 2,           /* target: the new id of a library; body: its path, and behind a NUL the identity of its file */
  TN_HOST_KERNEL = 3,         /* target: the new id of a kernel; body: tn_host_kernel_t and what follows it */
  TN_HOST_RELEASE_KERNEL = 4, /* target: a kernel */
  TN_HOST_MEMORY = 5,         /* target: the new id of a memory; body: tn_host_memory_t; its descriptor is on the socket */
  TN_HOST_RELEASE_MEMORY = 6, /* target: a memory */
  /* target: a kernel; operands; body: the arguments of a packed function or of a function of C, or the dimensions of the operands and results
   * as int64_t, one tensor after the other, of which a scalar has one. A typed kernel or a script keeps those of the run before without them. */
  TN_HOST_RUN = 7,
  TN_HOST_FETCH = 8,          /* target: a kept value; one operand: where its bytes are copied to */
  TN_HOST_RELEASE_VALUE = 9,  /* target: a kept value */
};

/* The states of a slot. */
enum {
  TN_HOST_FREE = 0,
  TN_HOST_POSTED = 1,   /* by the client */
  TN_HOST_DONE = 2,     /* by the worker: the answer is complete */
  TN_HOST_CALLBACK = 3, /* by the worker: it waits for a function of the client, whose id and arguments are in the body */
  TN_HOST_RETURNED = 4, /* by the client: the result of the function is in the body */
  TN_HOST_AWAITED = 5,  /* by a worker that was joined: it waits for this request, and does not look at its socket */
};

/* The origins of an error in an answer. */
enum {
  TN_HOST_NO_ERROR = 0,
  TN_HOST_XLA_ERROR = 1,       /* `code` is the XLA code, the body its message */
  TN_HOST_EXCEPTION = 2,       /* C++ code threw; the body is its message */
  TN_HOST_PACKED_ERROR = 3,    /* the body is MessagePack: [kind, message, traceback, causes] */
  TN_HOST_REQUEST_ERROR = 4,   /* the request was malformed, or named something unknown; the body is the reason */
  TN_HOST_LOAD_ERROR = 5,      /* a library could not be loaded; the body is the loader's message */
  TN_HOST_SCRIPT_ERROR = 6,    /* a kernel in TypeScript threw; the body is MessagePack: [name, message, stack] */
  TN_HOST_TENSORFLOW_ERROR = 7, /* a kernel of TensorFlow's C API set a status; the body is that of tn_tf_failure() */
};

/* One request and its answer. It is followed by the operands: tn_host_operand_t, TN_HOST_OPERANDS at most. A request
 * with more operands has them in memory that its first operand names (TN_HOST_MANY). */
typedef struct tn_host_slot {
  uint32_t state;     /* TN_HOST_FREE, ..., written last, with release order */
  uint32_t operation; /* TN_HOST_HELLO, ... */
  uint32_t target;
  uint32_t operands;
  uint64_t id;       /* the answer repeats it */
  uint64_t deadline; /* CLOCK_MONOTONIC in ns; UINT64_MAX for none */
  uint32_t flags;    /* TN_HOST_MANY, TN_HOST_LONG_BODY */
  uint32_t length;   /* of the body of the request, and then of the answer, in bytes */
  int32_t status;    /* TN_OK or another status */
  int32_t code;
  uint32_t error;    /* TN_HOST_NO_ERROR, ... */
  uint32_t value;    /* of an answer: the id of a value that the worker keeps until it is fetched and released, or 0; of an XLA
                        error or an exception: the stage of the call. host/kernels/value.h has all answers. */
  uint64_t native_time; /* of an answer: ns in the kernel */
} tn_host_slot_t;

#define TN_HOST_OPERANDS 40u
#define TN_HOST_MANY 1u      /* operand 0 is a range of memory with `operands` tn_host_operand_t */
/* The operand of the slot after the others (number 1 with TN_HOST_MANY, else number `operands`, which does not count it) is a
 * range of memory with the body. In an answer: the body is the size of a kept value that does not fit. */
#define TN_HOST_LONG_BODY 2u
/* Of an answer: the body ends with tn_host_strings_t[count] and the u32 count. The kept value has the strings of these results. */
#define TN_HOST_HAS_STRINGS 4u

#define TN_HOST_READ_ONLY 1u /* the kernel does not write to it */
#define TN_HOST_NULL 2u      /* the operand is missing; its pointer is null */
/* The operand is a result of strings, whose structs are zeroed before the run. Those that have pointers after the run are fetched. */
#define TN_HOST_STRINGS 12u
#define TN_HOST_STRINGS_TF 4u
#define TN_HOST_STRINGS_RFC16 8u
#define TN_HOST_STRINGS_RFC24 12u
typedef struct tn_host_operand {
  uint32_t memory; /* an id of TN_HOST_MEMORY */
  uint32_t flags;
  uint64_t offset;
  uint64_t length;
} tn_host_operand_t;

/* A result of strings that the client fetches: a table of structs without pointers, and the bytes of long strings. */
typedef struct tn_host_strings {
  uint32_t operand; /* of the request */
  uint32_t part;    /* of the kept value */
  uint64_t size;    /* in bytes */
} tn_host_strings_t;

typedef struct tn_host_hello {
  uint32_t version; /* TN_HOST_VERSION */
  uint32_t is_filtered; /* 1: the seccomp filter is on */
  uint64_t process; /* the worker's own number of its process */
} tn_host_hello_t;

#define TN_HOST_XLA 1u          /* typed: `symbols` by stage instantiate, prepare, initialize, execute; a descriptor */
#define TN_HOST_ORIGINAL 2u     /* untyped: void f(void *out, const void **in) */
#define TN_HOST_STATUS 3u       /* untyped, with a status */
#define TN_HOST_UNIFIED 4u      /* untyped, with a status and an opaque string, which is the descriptor */
#define TN_HOST_PACKED 5u       /* a packed function; the descriptor is empty */
#define TN_HOST_LEGACY 6u       /* a packed function of TVM before 0.21 */
#define TN_HOST_REGISTERED 7u   /* typed, registered by the library under `symbols[3]` for the platform Host; a descriptor */
#define TN_HOST_FUNCTION 9u     /* a function of C, `symbols[3]`; no operands, results and descriptor */
#define TN_HOST_SCRIPT 8u       /* a function of a module of TypeScript; the descriptor is MessagePack */
#define TN_HOST_TENSORFLOW 10u  /* a kernel of TensorFlow's C API; the descriptor is that of tn_tf_create(). Without one, a call answers with
                                   the registrations of the library, as tn_tf_list() writes them. */

/* The body of TN_HOST_KERNEL. The name for messages, the four symbols (each `symbol_lengths[i]` bytes, in the order of
 * the stages), and the descriptor follow, the descriptor at the next multiple of 8. */
typedef struct tn_host_kernel {
  uint32_t library;
  uint32_t convention; /* TN_HOST_XLA, ... */
  uint32_t operands;   /* of a call; results follow operands in a request */
  uint32_t results;
  uint32_t name_length;
  uint32_t symbol_lengths[4];
  uint32_t descriptor_length;
} tn_host_kernel_t;

/* The body of TN_HOST_RUN for a function of C. tn_host_pointer_t[pointers] follow, then the part of a tn_call_frame_t from `integers`
 * to the end of the used stack, and, with TN_CALL_COPIES, `copies_size` bytes of the frame from `copy_count` on. */
typedef struct tn_host_call {
  uint64_t extra; /* of the frame, as `flags` and `stack_size` are */
  uint32_t flags;
  uint32_t stack_size;
  uint32_t pointers;
  uint32_t copies_size;
  uint32_t text_limit; /* the result is a text of at most so many bytes, which the answer contains; 0: it is none */
  uint32_t reserved;
} tn_host_call_t;

/* An argument that is the address of an operand. */
typedef struct tn_host_pointer {
  uint32_t word; /* of the frame, in 32 bits */
  uint32_t operand;
} tn_host_pointer_t;

/* The answer: the results of the frame. The text follows. */
typedef struct tn_host_returned {
  uint64_t results[2];
  uint64_t vector_results[4];
  int32_t error_number;
  uint32_t text_length; /* TN_HOST_NO_TEXT: the pointer is null, or the result is not a text */
} tn_host_returned_t;
#define TN_HOST_NO_TEXT 0xffffffffu

/* The body of TN_HOST_RUN for a kernel of TensorFlow's C API: one for each operand and result, whose axes follow as int64_t[rank]. A result
 * whose operand is missing is allocated by the kernel. */
typedef struct tn_host_tensor {
  int32_t type; /* TF_DataType */
  int32_t rank;
  uint64_t byte_size; /* of the elements. Strings may lie in the whole range of the operand */
} tn_host_tensor_t;

/* The answer: one for each result, whose axes follow as int64_t[rank]. */
typedef struct tn_host_result {
  int32_t rank;
  uint32_t part; /* of the kept value, with packed strings; 0: the result is in the memory of the client */
  uint64_t byte_size;
} tn_host_result_t;

/* The body of TN_HOST_MEMORY. Before the request is posted, the client sends one message on the control socket: the u32
 * id of the memory, with the descriptor. */
typedef struct tn_host_memory {
  uint64_t byte_size;
  uint32_t is_writable; /* 0: mapped read-only */
  uint32_t reserved;
} tn_host_memory_t;

/* The output of a worker: `total` bytes were written so far, the last of them to `bytes`, as a ring of records: u32
 * stream (1 or 2), u32 length, the bytes, padded to 8. A record of stream 0 fills the rest before the ring begins anew. */
typedef struct tn_host_output {
  uint64_t total;
  uint8_t reserved[56];
  uint8_t bytes[65472];
} tn_host_output_t;

/* --- host/client: the client's side ------------------------------------------------------------------------------- */

/* A worker as its client sees it. All functions may be called on any thread, one at a time for each worker. */
typedef struct tn_host tn_host_t;

typedef struct tn_host_start {
  size_t struct_size;              /* set by the caller */
  const char *program;             /* the path of the program */
  const char *const *arguments;    /* null-terminated, with the name of the program */
  const char *const *environment;  /* null-terminated, "NAME=value" */
  uint64_t memory_limit;           /* see tn_host_header_t */
  uint64_t grace;
  uint32_t flags;                  /* TN_HOST_GUARD, ... */
  uint32_t ignores_output;         /* 1: stdout and stderr are /dev/null; 0: captured, or those of this process */
} tn_host_start_t;

/* What the client knows about a worker: all borrowed until tn_host_close(). */
typedef struct tn_host_info {
  uint8_t *command;  /* command memory */
  int64_t process;   /* pid */
  int32_t lifeline;  /* pidfd, which is readable once the process has ended */
  int32_t doorbell;  /* readable when the worker has rung; non-blocking */
  int32_t control;   /* the socket for descriptors */
  int32_t output[2]; /* the reading ends of stdout and stderr, non-blocking; -1 if they are not captured */
} tn_host_info_t;

/* Starts a worker with the request TN_HOST_HELLO in slot 0, and does not wait for its answer. The caller owns the
 * worker. TN_UNSUPPORTED: this system has no workers. TN_SYSTEM: the process could not be started. */
TN_API int32_t tn_host_start(const tn_host_start_t *start, tn_host_t **out);

/* Shares `command`, TN_HOST_COMMAND_SIZE zeroed bytes whose descriptor the caller still owns, with a process that
 * somebody else has started, ends and reaps. It has no control socket and no doorbell. The caller owns the worker.
 * TN_UNSUPPORTED: this system cannot wait for several futexes. */
TN_API int32_t tn_host_join(int32_t command, int64_t process, tn_host_t **out);

TN_API int32_t tn_host_describe(tn_host_t *host, tn_host_info_t *out);

/* Sends a descriptor, which the caller still owns, with the id of its memory. TN_CLOSED: the worker has ended. */
TN_API int32_t tn_host_send_memory(tn_host_t *host, uint32_t id, int32_t descriptor);

/* Announces slots that the client has changed, and wakes the worker. With `rings` 1, the worker rings the doorbell once:
 * after its next response, or for one that it has just made. Whoever is woken without an answer asks again, and then looks
 * again before it sleeps. */
TN_API int32_t tn_host_post(tn_host_t *host, uint32_t rings);

/* Waits until the state of a slot is neither TN_HOST_POSTED nor TN_HOST_RETURNED, at most `timeout` ns, or forever if it
 * is negative. TN_CLOSED: the worker has ended. TN_TIMED_OUT. */
TN_API int32_t tn_host_wait(tn_host_t *host, uint32_t slot, int64_t timeout);

/* tn_host_post() without a doorbell, and then tn_host_wait(). */
TN_API int32_t tn_host_exchange(tn_host_t *host, uint32_t slot, int64_t timeout);

/* Waits until any of `count` workers has changed a slot since its response count was `seen[i]`, or has ended; at most
 * TN_HOST_WAITED workers. TN_TIMED_OUT. */
#define TN_HOST_WAITED 64u
TN_API int32_t tn_host_wait_any(tn_host_t *const *hosts, const uint32_t *seen, size_t count, int64_t timeout);

/* Sets the cancel word for the call with this id, and wakes who waits for it. It does not concern other calls. */
TN_API int32_t tn_host_cancel(tn_host_t *host, uint64_t id);

/* Sends SIGKILL to the worker. A no-op once it has been reaped. */
TN_API int32_t tn_host_kill(tn_host_t *host);

/* Reaps the worker if it has ended, waiting at most `timeout` ns. `*kind` is 1 for an exit, whose code `*value` receives,
 * and 2 for a signal. A later call repeats the answer. TN_TIMED_OUT: it runs. */
TN_API int32_t tn_host_reap(tn_host_t *host, int64_t timeout, int32_t *kind, int32_t *value);

/* Reads the doorbell empty. */
TN_API int32_t tn_host_drain(tn_host_t *host);

/* Ends a worker: kills and reaps it if it runs, closes its descriptors, unmaps its memory and frees it. A watch of one of
 * the descriptors must have been closed before. */
TN_API void tn_host_close(tn_host_t *host);

/* CLOCK_MONOTONIC in ns. */
TN_API uint64_t tn_host_now(void);

/* The numbers of workers that are open and of their processes that were not reaped. Tests use them to find leaks. */
TN_API size_t tn_host_live(void);
TN_API size_t tn_host_unreaped(void);

/* --- host/server: the worker's side, for tenon-host and for workers in Node.js ------------------------------------- */

/* Maps the command memory at the descriptors of a worker, takes the life mutex for the calling thread, and starts the
 * watchdog, which ends the process when the client is gone, and captures the output. Called once in a process. */
TN_API int32_t tn_host_attach(uint8_t **command);

/* Waits for the next posted slot, in order, and marks the call as in progress. At most `timeout` ns, or forever if it is
 * negative. TN_TIMED_OUT. */
TN_API int32_t tn_host_take(uint32_t *slot, int64_t timeout);

/* Marks a slot as answered (TN_HOST_DONE), wakes the client, and rings the doorbell if the client has asked for it. */
TN_API int32_t tn_host_answer(uint32_t slot);

/* Calls the client back: marks the slot TN_HOST_CALLBACK, and waits until it is TN_HOST_RETURNED. */
TN_API int32_t tn_host_call_back(uint32_t slot);

/* Receives the descriptor that the client has sent for a memory. The caller owns it. */
TN_API int32_t tn_host_receive_memory(uint32_t id, int32_t *descriptor);

/* Whether the call in progress was cancelled, or its deadline has passed. 0 outside workers. Kernels read it as
 * tn_cancelled() (tenon/xla_handler.h). */
TN_API int32_t tn_host_is_cancelled(void);

#endif
