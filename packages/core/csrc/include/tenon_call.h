/* Calls between C and JavaScript: callbacks, and the guard that stops C++ exceptions. tenon.h states the rules that hold for every
 * function. */
#ifndef TENON_CALL_H
#define TENON_CALL_H

#include "tenon.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- call/callback.c ----------------------------------------------------------------------------------------------- */

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

/* --- call/guard.c -------------------------------------------------------------------------------------------------- */

/* Runs `body(context)` and reports a C++ exception instead of letting it cross: returns TN_OK or TN_EXCEPTION, and
 * copies the exception's text to `message` (at most `capacity` bytes, NUL-terminated). */
typedef int32_t (*tn_guard_t)(void (*body)(void *), void *context, char *message, size_t capacity);

/* Installs the guard, which lives in a C++ library of its own (see call/guard.cc), by its address. Idempotent. */
TN_API int32_t tn_guard_install(tn_guard_t guard);

/* Calls `body(context)` under the installed guard. With none installed: TN_UNSUPPORTED, and nothing runs. The text of
 * an exception is the last error. */
TN_API int32_t tn_guard_call(void (*body)(void *), void *context);

#ifdef __cplusplus
}
#endif
#endif
