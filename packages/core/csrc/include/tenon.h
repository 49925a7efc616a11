/* Tenon's native core: the one public header.
 *
 * Rules that hold for every function here:
 * - it returns an int32_t status (0, or a negative code of status.def), except for pure getters;
 * - results are written through pointers, and only on success;
 * - strings are (pointer, length) spans of UTF-8, never NUL-terminated unless a comment says so;
 * - sizes and offsets are bytes;
 * - a failing function leaves a message for tn_last_error() on the calling thread;
 * - it may be called from any thread unless a comment says otherwise.
 */
#ifndef TENON_H
#define TENON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define TN_API __declspec(dllexport)
#else
#define TN_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
#define TN_STATUS(name, value, text) TN_##name = (value),
#include "status.def"
#undef TN_STATUS
} tn_status_t;

/* --- status.c ------------------------------------------------------------------------------------------------- */

/* The version of this ABI. It never changes its signature; a caller compares it with the one it was built for. */
TN_API uint32_t tn_abi_version(void);

/* The version of the package this library belongs to: static, NUL-terminated. */
TN_API const char *tn_version(void);

/* The meaning of a status code: static, NUL-terminated; "unknown status" for one that isn't in the table. */
TN_API const char *tn_status_text(int32_t status);

/* The message of the calling thread's last failure, NUL-terminated, owned by the thread, valid until its next failure. */
TN_API const char *tn_last_error(void);

/* --- memory.c ------------------------------------------------------------------------------------------------- */

/* Allocates `byte_size` zeroed bytes at a multiple of `byte_alignment` (a power of two). Zero bytes give a distinct,
 * real address. The caller owns the block and gives it back with tn_memory_free(). */
TN_API int32_t tn_memory_allocate(size_t byte_size, size_t byte_alignment, void **out);

/* Frees a block of tn_memory_allocate(); null is a no-op. */
TN_API void tn_memory_free(void *block);

/* Under AddressSanitizer marks bytes as unusable (poison = 1) or usable (0); elsewhere a no-op. The range is owned by
 * the caller. */
TN_API void tn_memory_poison(void *address, size_t byte_size, int32_t poison);

/* --- library.c ------------------------------------------------------------------------------------------------ */

/* Opens a library with the system's loader, all symbols bound at once, and never unmaps it. `path` is UTF-8. On
 * failure the loader's own message is the last error. */
TN_API int32_t tn_library_open(const char *path, size_t path_length, void **out);

/* The address of a symbol of an opened library; TN_NOT_FOUND if it has none. */
TN_API int32_t tn_library_symbol(void *library, const char *name, size_t name_length, void **out);

/* The path of the first Tenon core that this process loaded globally and its version: NUL-terminated, static. Lets two
 * copies of different versions refuse each other. */
TN_API int32_t tn_first_core(const char **path, const char **version);

/* --- callback.c ----------------------------------------------------------------------------------------------- */

/* The callbacks of one thread that runs JavaScript, and one TypeScript function that native code may call and keep. */
typedef struct tn_callbacks tn_callbacks_t;
typedef struct tn_callback tn_callback_t;

/* Runs the TypeScript function `id`. What `arguments` and `result` point at is agreed between the function and its
 * native caller. Returns 1 when the function ran to its end; anything else is a failure. */
typedef int32_t (*tn_trampoline_t)(int64_t id, void *arguments, void *result);

/* Opens the table of the calling thread, which alone will enter the trampoline. Closed with tn_callbacks_close(). */
TN_API int32_t tn_callbacks_open(tn_trampoline_t trampoline, tn_callbacks_t **out);

/* Ends the table: later calls of its functions give TN_CLOSED. Callbacks that native code still holds stay valid
 * handles until they are released. Once, on the table's thread. */
TN_API void tn_callbacks_close(tn_callbacks_t *table);

/* Takes at most `capacity` ids of callbacks that nobody holds any more; the rest stays queued. */
TN_API int32_t tn_callbacks_take_released(tn_callbacks_t *table, int64_t *ids, size_t capacity, size_t *count);

/* Makes a handle for the function `id`, with one reference that the caller owns. */
TN_API int32_t tn_callback_create(tn_callbacks_t *table, int64_t id, tn_callback_t **out);

/* Adds a reference. */
TN_API void tn_callback_retain(tn_callback_t *callback);

/* Gives a reference back; with the last one the id is queued for tn_callbacks_take_released(). Null is a no-op. */
TN_API void tn_callback_release(tn_callback_t *callback);

/* What tn_callback_invoke() would refuse, without calling: TN_OK, TN_WRONG_THREAD or TN_CLOSED. For callers that prepare
 * something on the function's thread first. */
TN_API int32_t tn_callback_check(tn_callback_t *callback);

/* Calls the function. TN_WRONG_THREAD on a thread that isn't the table's (it never waits for that thread, so it can't
 * deadlock), TN_CLOSED when its JavaScript has ended, TN_CALLBACK_FAILED when it threw. */
TN_API int32_t tn_callback_invoke(tn_callback_t *callback, void *arguments, void *result);

/* --- guard.c -------------------------------------------------------------------------------------------------- */

/* Runs `body(context)` and reports a C++ exception instead of letting it cross: returns TN_OK or TN_EXCEPTION, and
 * copies the exception's text to `message` (at most `capacity` bytes, NUL-terminated). */
typedef int32_t (*tn_guard_t)(void (*body)(void *), void *context, char *message, size_t capacity);

/* Installs the guard, which lives in a C++ library of its own (see guard/guard.cc), by its address. Idempotent. */
TN_API int32_t tn_guard_install(tn_guard_t guard);

/* Calls `body(context)` under the installed guard. With none installed: TN_UNSUPPORTED, and nothing runs. The text of
 * an exception is the last error. */
TN_API int32_t tn_guard_call(void (*body)(void *), void *context);

/* --- xla_*.c: XLA custom calls ------------------------------------------------------------------------------------ */

/* The ABI itself is described by tenon/xla_ffi.h and tenon/xla_custom_call.h. The core also exports the names by which
 * kernel libraries find their runtime: XLA_FFI_GetApi, xla::ffi::GetXlaFfiApi() and XlaCustomCallStatusSetSuccess and
 * -SetFailure. A prepared call is one block of the caller's memory; it is used by one thread at a time. */

/* Asks a typed handler for its metadata. `handler` is its address, `out` has room for a tn_xla_metadata_t (48 bytes, always
 * all of them). A version of 0.0 in the answer means that this is no handler. TN_KERNEL_FAILED: it answered with an error,
 * whose code is in `*code` and whose text is the last error. Never call it with the address of an arbitrary function. */
TN_API int32_t tn_xla_metadata(void *handler, void *out, int32_t *code);

/* How many bytes tn_xla_frame_build() needs for a descriptor (its layout is in xla_frame.c). The descriptor is aligned to 8
 * bytes and borrowed for the call; nothing in it is trusted. */
TN_API int32_t tn_xla_frame_size(const void *descriptor, size_t descriptor_size, size_t *out);

/* Lays out a prepared call in `memory`: owned by the caller, aligned to 64, at a fixed address from here on until
 * tn_xla_close(). The memory starts with two uint64: the call's size, and the offset of its first tn_xla_buffer_t. All
 * buffers, operands before results, lie there in a row; their `data` is null and the caller's to set before each run. */
TN_API int32_t tn_xla_frame_build(const void *descriptor, size_t descriptor_size, void *memory, size_t memory_size);

/* Lends `data` to the handlers of a call, which find it by its type id; borrowed until tn_xla_close(). */
TN_API int32_t tn_xla_lend(void *call, int64_t type_id, void *data);

/* Runs the instantiate handler, if there is one: once, before the first tn_xla_execute(). Fails like tn_xla_execute(). */
TN_API int32_t tn_xla_instantiate(void *call);

/* Runs prepare, initialize and execute, as far as there are handlers, and waits for a future. Allocates nothing.
 * TN_KERNEL_FAILED: a handler answered with an error. TN_EXCEPTION: it threw. Both leave a failure to be read. */
TN_API int32_t tn_xla_execute(void *call);

/* Lets `call` use the states and the lent data of `original`, which stays open as long; only `original` is closed. */
TN_API int32_t tn_xla_share(void *call, void *original);

/* Reads the failure of the last run: its XLA code, the stage, and its message (copied up to `capacity` bytes, not
 * NUL-terminated; its whole length goes to `*length`). The failure is forgotten once it was copied whole. TN_NOT_FOUND:
 * there is none. */
TN_API int32_t tn_xla_failure(void *call, int32_t *code, int32_t *stage, char *message, size_t capacity, size_t *length);

/* Destroys the states that handlers left with a call, and its failure. The memory stays the caller's; closing again does
 * nothing. TN_EXCEPTION: a deleter threw. */
TN_API int32_t tn_xla_close(void *call);

/* Looks for a handler that a library registered itself. `out` gets a tn_xla_bundle_t (32 bytes: the addresses of
 * instantiate, prepare, initialize, execute). Platforms are compared as XLA does: without case, cpu is host, gpu is cuda. */
TN_API int32_t tn_xla_find_handler(const char *name, size_t name_length, const char *platform, size_t platform_length,
                                   void *out);

/* A call of the ORIGINAL Host convention (tn_xla_host_call_t of tenon/xla_custom_call.h), laid out by the caller:
 * `function(*out, in)`. */
typedef struct tn_xla_host_call_record {
  void (*function)(void *out, const void **in);
  const void **in;
  void **out; /* where the argument is read from, at each call */
} tn_xla_host_call_record_t;

/* Makes such a call under the exception guard. */
TN_API int32_t tn_xla_execute_host(void *call);

/* How many errors, futures and states of handlers exist: for tests that look for leaks. */
TN_API size_t tn_xla_live_errors(void);
TN_API size_t tn_xla_live_futures(void);
TN_API size_t tn_xla_live_states(void);

/* --- tstring_*.c: string tensors ------------------------------------------------------------------------------ */

/* How the strings of a tensor lie in memory. The values are shared with @tenon/tstring. ARROW32 and ARROW64 are an
 * offsets table (count + 1 integers of the host's order) and the bytes it points into. */
typedef enum {
  TN_TSTRING_TF = 0,
  TN_TSTRING_RFC16 = 1,
  TN_TSTRING_RFC24 = 2,
  TN_TSTRING_LEGACY = 3,
  TN_TSTRING_TFLITE = 4,
  TN_TSTRING_ARROW32 = 5,
  TN_TSTRING_ARROW64 = 6
} tn_tstring_layout_t;

typedef enum { TN_TSTRING_LE64 = 0, TN_TSTRING_BE64 = 1, TN_TSTRING_LE32 = 2, TN_TSTRING_BE32 = 3 } tn_tstring_abi_t;

/* The type of one string: the low two bits of its first byte. 3 is VIEW as shipped and PREALLOC in the RFC. */
typedef enum {
  TN_TSTRING_SMALL = 0,
  TN_TSTRING_LARGE = 1,
  TN_TSTRING_OFFSET = 2,
  TN_TSTRING_VIEW = 3,
  TN_TSTRING_PREALLOC = 3
} tn_tstring_type_t;

/* Pointers inside the structs may be followed: they were written by this process and what they name is alive. */
#define TN_TSTRING_FOLLOW 1u
/* The tensor will be written in place, so no two elements may share bytes. */
#define TN_TSTRING_WRITABLE 2u

/* A tensor to read. All memory is borrowed for the call. Nothing in it is trusted but the pointers when FOLLOW is set:
 * every word is read once, checked and then used. */
typedef struct {
  uint32_t struct_size;
  int32_t layout; /* tn_tstring_layout_t */
  int32_t abi;    /* tn_tstring_abi_t; ignored for ARROW */
  uint32_t flags;
  uint64_t count;      /* elements */
  uint64_t table_size; /* bytes */
  uint64_t data_size;  /* bytes */
  const uint8_t *table; /* structs, offsets, or TFLite's header */
  const uint8_t *data;  /* what offsets count from: the whole tensor, or Arrow's data. May differ from `table` when the
                           table was copied out of memory that others can change. */
} tn_tstring_tensor_t;

/* How strings that don't fit a struct are written. */
typedef enum {
  TN_TSTRING_AS_OFFSET = 0,   /* OFFSET into `data`, which lies behind `table` */
  TN_TSTRING_AS_POINTER = 1,  /* VIEW (TF) or PREALLOC (RFC) into `data`; the host's ABI only */
  TN_TSTRING_AS_BLOCK = 2,    /* LARGE, each in a malloc block of its own; the host's ABI only */
  TN_TSTRING_AS_BORROWED = 3  /* VIEW or PREALLOC onto the source's bytes, which are not copied */
} tn_tstring_form_t;

/* A tensor to write. `data` is where the bytes of strings go; for OFFSET, legacy and TFLite it lies behind `table` in
 * the same block. All memory is the caller's. */
typedef struct {
  uint32_t struct_size;
  int32_t layout;
  int32_t abi;
  int32_t form;      /* tn_tstring_form_t, for layouts of structs */
  int32_t is_inline; /* whether strings that fit are SMALL; else all are as `form` says */
  int32_t reserved;
  uint64_t table_size;
  uint64_t data_size;
  uint8_t *table;
  uint8_t *data;
} tn_tstring_target_t;

/* What is wrong with a tensor, for a message: which check, at which element, the value found and the limit. */
typedef struct {
  uint32_t struct_size;
  int32_t check; /* tn_tstring_check_t */
  uint64_t index;
  uint64_t value;
  uint64_t limit;
} tn_tstring_fault_t;

/* The checks. @tenon/tstring has the rules and the words for them. */
typedef enum {
  TN_TSTRING_CHECK_NONE = 0,
  TN_TSTRING_CHECK_TABLE_SIZE = 1,
  TN_TSTRING_CHECK_STRUCT_TYPE = 2,
  TN_TSTRING_CHECK_SMALL_SIZE = 3,
  TN_TSTRING_CHECK_SMALL_NUL = 4,
  TN_TSTRING_CHECK_OFFSET_START = 5,
  TN_TSTRING_CHECK_OFFSET_END = 6,
  TN_TSTRING_CHECK_BUDGET = 7,
  TN_TSTRING_CHECK_OVERLAP = 8,
  TN_TSTRING_CHECK_LEGACY_OFFSET = 9,
  TN_TSTRING_CHECK_VARINT = 10,
  TN_TSTRING_CHECK_LEGACY_LENGTH = 11,
  TN_TSTRING_CHECK_VARINT_CANONICAL = 12,
  TN_TSTRING_CHECK_LEGACY_TIGHT = 13,
  TN_TSTRING_CHECK_TFLITE_HEADER = 14,
  TN_TSTRING_CHECK_TFLITE_COUNT = 15,
  TN_TSTRING_CHECK_TFLITE_FIRST = 16,
  TN_TSTRING_CHECK_TFLITE_RANGE = 17,
  TN_TSTRING_CHECK_TFLITE_ORDER = 18,
  TN_TSTRING_CHECK_TFLITE_TOTAL = 19,
  TN_TSTRING_CHECK_ARROW_RANGE = 20,
  TN_TSTRING_CHECK_ARROW_ORDER = 21,
  TN_TSTRING_CHECK_POINTER = 22,
  TN_TSTRING_CHECK_SELECTION = 23,
  TN_TSTRING_CHECK_STRING_LIMIT = 24,
  TN_TSTRING_CHECK_DISTANCE_LIMIT = 25,
  TN_TSTRING_CHECK_TOTAL_LIMIT = 26,
  TN_TSTRING_CHECK_CHANGED = 27
} tn_tstring_check_t;

/* Every function below that takes a fault fills it and returns TN_INVALID_ARGUMENT when the tensor is at fault. */

/* Checks a whole tensor that came from outside. `strict` is 1 (as this library writes) or 0 (as upstream's readers
 * accept); FOLLOW is ignored: pointers from outside are refused. `budget` bounds the sum of the sizes; the sum goes to
 * `total`. */
TN_API int32_t tn_tstring_validate(const tn_tstring_tensor_t *tensor, int32_t strict, uint64_t budget, uint64_t *total,
                                   tn_tstring_fault_t *fault);

/* The bytes that converting needs: target->layout, abi, form and is_inline are read, table_size and data_size are
 * written. With a selection (`count` indices) only those elements, in that order; else count must be the tensor's.
 * Limits of the target layout are checked here, before anything is written. */
TN_API int32_t tn_tstring_measure(const tn_tstring_tensor_t *tensor, const uint32_t *selection, uint64_t count,
                                  tn_tstring_target_t *target, tn_tstring_fault_t *fault);

/* Writes the strings of a tensor in another layout. The target has the sizes that tn_tstring_measure() gave; if the
 * source has grown since then, CHANGED is reported and nothing is written past them. AS_BLOCK: the blocks are malloc's;
 * on failure those made already are freed. */
TN_API int32_t tn_tstring_convert(const tn_tstring_tensor_t *tensor, const uint32_t *selection, uint64_t count,
                                  const tn_tstring_target_t *target, tn_tstring_fault_t *fault);

/* Compares element by element as unsigned bytes, the shorter first: out[i] is -1, 0 or 1. `other` has as many elements,
 * or one, which is compared with all. */
TN_API int32_t tn_tstring_compare(const tn_tstring_tensor_t *tensor, const tn_tstring_tensor_t *other, int8_t *out,
                                  tn_tstring_fault_t *fault);

/* The index of the first element from `from` on that has exactly these bytes; the count if none has. */
TN_API int32_t tn_tstring_find(const tn_tstring_tensor_t *tensor, const uint8_t *bytes, uint64_t byte_size, uint64_t from,
                               uint64_t *index, tn_tstring_fault_t *fault);

/* XXH32 of each element. */
TN_API int32_t tn_tstring_hash(const tn_tstring_tensor_t *tensor, uint32_t seed, uint32_t *out, tn_tstring_fault_t *fault);

/* The index of the first element from `from` on that is not valid UTF-8; the count if all are. */
TN_API int32_t tn_tstring_find_invalid_utf8(const tn_tstring_tensor_t *tensor, uint64_t from, uint64_t *index,
                                            tn_tstring_fault_t *fault);

/* Copies at most `capacity` bytes of element `index` and gives its whole size. */
TN_API int32_t tn_tstring_read(const tn_tstring_tensor_t *tensor, uint64_t index, uint8_t *out, uint64_t capacity,
                               uint64_t *byte_size, tn_tstring_fault_t *fault);

/* Frees what `count` structs of the host's ABI own: blocks of LARGE, owners of VIEW. `layout` is TF, RFC16 or RFC24.
 * They are left as tn_tstring_dealloc() and tn_tstring_rfc_dealloc() leave them. */
TN_API void tn_tstring_dealloc_all(void *structs, uint64_t count, int32_t layout);

/* --- tstring_element.c: one string as TensorFlow shipped it (24 bytes, the host's ABI) -------------------------- */

/* What a VIEW may name in its last word (since TensorFlow 2.21): who keeps the viewed bytes alive. */
typedef struct tn_tstring_owner {
  void (*ref)(struct tn_tstring_owner *self);
  bool (*unref)(struct tn_tstring_owner *self); /* true when it was the last reference */
  void *object;
} tn_tstring_owner_t;

/* `string` is a struct of 24 bytes, at any address, that tn_tstring_init() or zeroing made valid. Blocks come from
 * malloc. Sources may overlap the string itself: they are read before anything is freed. A size that no block can have
 * is TN_OUT_OF_MEMORY, and the string is unchanged. */

TN_API void tn_tstring_init(void *string);
/* The content becomes these bytes: SMALL up to 22, else LARGE. The old content of a VIEW or OFFSET is not read. */
TN_API int32_t tn_tstring_copy(void *string, const char *bytes, size_t byte_size);
TN_API int32_t tn_tstring_append(void *string, const char *bytes, size_t byte_size);
/* Grows with `fill` or cuts; TN_OUT_OF_MEMORY leaves it as it is. */
TN_API int32_t tn_tstring_resize(void *string, size_t byte_size, char fill);
TN_API int32_t tn_tstring_reserve(void *string, size_t capacity);
TN_API int32_t tn_tstring_reserve_amortized(void *string, size_t capacity);
/* A VIEW with no owner: the caller keeps the bytes alive. Bytes of the string itself are copied instead. */
TN_API int32_t tn_tstring_assign_view(void *string, const char *bytes, size_t byte_size);
/* A VIEW whose owner is referenced once now and released when the VIEW is overwritten or freed. */
TN_API int32_t tn_tstring_assign_owned_view(void *string, const char *bytes, size_t byte_size, tn_tstring_owner_t *owner);
TN_API int32_t tn_tstring_assign(void *string, const void *source);
/* `keep_views` is 1 for libraries before November 2025: a VIEW moved from stays a VIEW; else it becomes empty. */
TN_API int32_t tn_tstring_move(void *string, void *source, int32_t keep_views);
TN_API void tn_tstring_dealloc(void *string);
TN_API int32_t tn_tstring_get_type(const void *string);
TN_API size_t tn_tstring_get_size(const void *string);
TN_API size_t tn_tstring_get_capacity(const void *string);
TN_API const char *tn_tstring_get_data_pointer(const void *string);
/* Bytes that may be written: a VIEW or OFFSET becomes SMALL or LARGE first. Null when there is no memory. */
TN_API char *tn_tstring_get_mutable_data_pointer(void *string);

/* --- tstring_rfc.c: one string as the RFC has it (`layout` RFC16 or RFC24, the host's ABI) ---------------------- */

/* The content becomes these bytes, in place if the struct's own container has the room; else LARGE, which keeps that
 * container in front of its block until an assignment fits it again. */
TN_API int32_t tn_tstring_rfc_assign(void *string, int32_t layout, const char *bytes, size_t byte_size);
/* Moves to another address. An OFFSET, and one kept in front of a LARGE, is rebased; TN_INVALID_ARGUMENT if it can't
 * reach its bytes from there, and nothing has changed. The source becomes an empty SMALL. */
TN_API int32_t tn_tstring_rfc_move(void *string, void *source, int32_t layout);
/* Frees the block of a LARGE and restores the container kept in front of it. */
TN_API void tn_tstring_rfc_dealloc(void *string, int32_t layout);

/* --- posix/shared_memory.c, posix/mapping.c, posix/fault_guard.c ------------------------------------------------- */

/* Memory that processes share by descriptor, and mappings of it. Linux; elsewhere everything is TN_UNSUPPORTED, and
 * Windows lacks the symbols. */

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
  uint64_t file_system; /* statfs f_type */
  uint32_t is_regular;  /* 1 for a file with contents: memory, a file on disk; 0 for a device, pipe, socket, directory */
  uint32_t seals;       /* TN_SEAL_*; 0 where there are none */
  uint32_t can_read;
  uint32_t can_write;
} tn_descriptor_info_t;

/* Creates anonymous memory of a fixed size, zeroed, with TN_SEAL_SHRINK and TN_SEAL_GROW; the label appears in /proc alone.
 * The caller owns the descriptor, which no child process inherits. */
TN_API int32_t tn_shared_memory_create(uint64_t byte_size, const char *label, size_t label_length, int32_t *out);

/* Adds seals. TN_SEAL_WRITE is refused by the kernel while the memory is mapped shared. */
TN_API int32_t tn_shared_memory_seal(int32_t descriptor, uint32_t seals);

TN_API int32_t tn_descriptor_describe(int32_t descriptor, tn_descriptor_info_t *out);

/* Another descriptor for the same thing, not inherited by child processes. The caller owns it. */
TN_API int32_t tn_descriptor_duplicate(int32_t descriptor, int32_t *out);

/* Closes a descriptor, once. */
TN_API int32_t tn_descriptor_close(int32_t descriptor);

#define TN_MAPPING_SHARED 1u  /* readable and writable, shared with everybody; else private copies of written pages */
#define TN_MAPPING_GUARDED 2u /* a page that the file no longer has reads as zeros and is counted, instead of SIGBUS */

/* Maps bytes of a descriptor, which may be closed afterwards. `offset` is a multiple of the page. Undone with
 * tn_mapping_close(). */
TN_API int32_t tn_mapping_open(int32_t descriptor, uint64_t offset, size_t byte_size, uint32_t flags, void **out);

/* Unmaps what tn_mapping_open() mapped. */
TN_API int32_t tn_mapping_close(void *address, size_t byte_size);

/* Takes the memory away but keeps the addresses: zeroed private pages stand there, so that an access that is still under
 * way on another thread stays harmless. Later closed with tn_mapping_close(). */
TN_API int32_t tn_mapping_retire(void *address, size_t byte_size);

/* How many pages of a guarded mapping were missing when they were touched. */
TN_API int32_t tn_mapping_faults(void *address, uint64_t *out);

/* Waits until what was written through a shared mapping of a file is on its device. */
TN_API int32_t tn_mapping_sync(void *address, size_t byte_size);

/* What is mapped in this process at the moment. */
TN_API void tn_mapping_totals(uint64_t *count, uint64_t *byte_size);

/* --- posix/pages.c -------------------------------------------------------------------------------------------------- */

/* Windows lacks these symbols. */

/* The size of a page, in bytes: a power of two. */
TN_API size_t tn_page_size(void);

/* Maps zeroed pages with a protected page behind them, which faults when it is touched. `byte_size` is a multiple of the
 * page. The caller owns them and gives them back with tn_pages_close(). TN_OUT_OF_MEMORY when the process has no more
 * mappings. */
TN_API int32_t tn_pages_open(size_t byte_size, void **out);

/* Gives the pages' contents back to the system and lets every later access fault; the addresses stay taken. */
TN_API int32_t tn_pages_protect(void *address, size_t byte_size);

/* Unmaps what tn_pages_open() mapped, with the same size. */
TN_API int32_t tn_pages_close(void *address, size_t byte_size);

/* Tells the system whether pages of a file's mapping will be needed soon (1) or not (0). `address` is a page's. Never 0 for
 * a private mapping that was written to: it would lose its changes. */
TN_API int32_t tn_pages_advise(void *address, size_t byte_size, int32_t needed);

/* How many of the pages are in memory. `address` is a page's. */
TN_API int32_t tn_pages_resident(void *address, size_t byte_size, uint64_t *out);

/* --- posix/channel.c, frame.c ---------------------------------------------------------------------------------------- */

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
#define TN_FRAME_OPERATIONS 12u
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

/* Sends a message without descriptors and receives the next one, as the two functions above, in one call. */
TN_API int32_t tn_channel_call(int32_t channel, const void *request, size_t length, void *bytes, int32_t *descriptors,
                               size_t *count, int64_t timeout);

/* Waits until a message or a connection waits on some of the sockets, or their peers are gone, and sets their places in
 * `ready` to 1, the others to 0. TN_TIMED_OUT if none is in time. */
TN_API int32_t tn_channel_poll(const int32_t *channels, size_t count, int64_t timeout, uint8_t *ready);

/* Writes one byte to a stream, for a peer that sleeps; a full stream has bytes enough. TN_CLOSED if the peer is gone. */
TN_API int32_t tn_channel_ring(int32_t stream);

#ifdef __cplusplus
}
#endif
#endif
