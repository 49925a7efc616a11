/* Tenon's native core: the one public header, which includes a header for each larger topic.
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

/* Copies bytes between blocks that don't overlap: for callers who have addresses and no views. */
TN_API void tn_memory_copy(void *to, const void *from, size_t byte_size);

/* Under AddressSanitizer marks bytes as unusable (poison = 1) or usable (0); elsewhere a no-op. The range is owned by
 * the caller. */
TN_API void tn_memory_poison(void *address, size_t byte_size, int32_t poison);

/* --- library.c ------------------------------------------------------------------------------------------------ */

/* Opens a library with the system's loader, all symbols bound at once, and never unmaps it. `path` is UTF-8. On
 * failure the loader's own message is the last error. */
TN_API int32_t tn_library_open(const char *path, size_t path_length, void **out);

/* What is loaded into this process for everybody, as a library: the program, and what it was linked with. */
TN_API int32_t tn_library_process(void **out);

/* The address of a symbol of an opened library; TN_NOT_FOUND if it has none. */
TN_API int32_t tn_library_symbol(void *library, const char *name, size_t name_length, void **out);

/* The path of the first Tenon core that this process loaded globally and its version: NUL-terminated, static. Lets two
 * copies of different versions refuse each other. */
TN_API int32_t tn_first_core(const char **path, const char **version);

/* --- watch.c ------------------------------------------------------------------------------------------------------ */

/* Watches a descriptor from a thread of its own, and tells through a socket, owned by the caller: it gets one byte when the
 * descriptor is readable, and another one for each byte that the caller writes back, when it is readable again. Closing
 * the socket ends the watch. The descriptor is duplicated. */
TN_API int32_t tn_watch_open(int32_t descriptor, int32_t *socket);

/* --- callback.c ----------------------------------------------------------------------------------------------- */

/* The callbacks of one thread that runs JavaScript, and one TypeScript function that native code may call and keep. */
typedef struct tn_callbacks tn_callbacks_t;
typedef struct tn_callback tn_callback_t;

/* Which function a trampoline runs, and the addresses that its native caller passed: read at once, the next call
 * overwrites it. Doubles hold ids and addresses of user space exactly; JavaScript loads them for next to nothing, where
 * each parameter of a callback costs more than a tenth of the call. */
typedef struct {
  double id;
  double arguments;
  double result;
} tn_callback_call_t;

/* Runs the TypeScript function that the table's call names. What `arguments` and `result` point at is agreed between the
 * function and its native caller. Returns 1 when the function ran to its end; anything else is a failure. */
typedef int32_t (*tn_trampoline_t)(void);

/* Opens the table of the calling thread, which alone will enter the trampoline and writes `call`, borrowed, before it
 * does. Closed with tn_callbacks_close(). */
TN_API int32_t tn_callbacks_open(tn_trampoline_t trampoline, tn_callback_call_t *call, tn_callbacks_t **out);

/* Ends the table: later calls of its functions give TN_CLOSED. Callbacks that native code still holds stay valid
 * handles until they are released. Once, on the table's thread. */
TN_API void tn_callbacks_close(tn_callbacks_t *table);

/* Takes at most `capacity` ids of callbacks that nobody holds any more; the rest stays queued. */
TN_API int32_t tn_callbacks_take_released(tn_callbacks_t *table, int64_t *ids, size_t capacity, size_t *count);

/* Makes a handle for the function `id`, with one reference that the caller owns. */
TN_API int32_t tn_callback_create(tn_callbacks_t *table, int64_t id, tn_callback_t **out);

/* Adds a reference. Null is a no-op. */
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

#ifdef __cplusplus
}
#endif

/* The other topics, each in a header of its own. */
#include "tenon_shared.h"
#include "tenon_tstring.h"
#include "tenon_xla.h"

#endif
